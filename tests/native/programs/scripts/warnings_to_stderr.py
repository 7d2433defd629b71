# script
import warnings


def old():
    warnings.warn("old() is deprecated", DeprecationWarning, stacklevel=2)
    return 1


warnings.warn("careful")
old()
print("result", old())
warnings.filterwarnings("error")
try:
    warnings.warn("now an error", UserWarning)
except UserWarning as e:
    print("raised", e)
