# script
try:
    int("x")
except ValueError as e:
    raise RuntimeError("bad config") from e
