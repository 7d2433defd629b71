# script
import sys

def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)

print(sys.getrecursionlimit(), depth(993))
sys.setrecursionlimit(2000)
print(sys.getrecursionlimit(), depth(1993))
for limit in (0, -5, 2**40):
    try:
        sys.setrecursionlimit(limit)
    except (ValueError, OverflowError) as error:
        print(type(error).__name__, error)

print("done")
