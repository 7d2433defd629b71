# script
import sys
print(sys.modules["__main__"].__name__, __name__ == "__main__")
