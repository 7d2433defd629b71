# script
try:
    raise ExceptionGroup("g", [ValueError("a"), TypeError("b")])
except* ValueError as e:
    print("v", e.exceptions)
except* TypeError as e:
    print("t", e.exceptions)
