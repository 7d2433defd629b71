# script
try:
    print("try")
    raise SystemExit
finally:
    print("finally")
