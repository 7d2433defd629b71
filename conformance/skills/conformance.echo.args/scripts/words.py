"""Prints its command line and what it reads."""

import sys

if __name__ == "__main__":
    print(" ".join(sys.argv[1:]), sys.stdin.read())
    print("to the error stream", file=sys.stderr)
    sys.exit(len(sys.argv) - 1)
