# script
import sys

print(__name__, __doc__, __builtins__ is not None)
print(sys.modules["__main__"].__name__)
print("__file__" in globals())
print([n for n in globals() if not n.startswith("_")])
print(sys.argv[0][-3:], type(__loader__).__name__ if "__loader__" in globals() else None)


class K:
    pass


print(K, K.__module__, K.__qualname__, f"{lambda: 0}"[:19])
