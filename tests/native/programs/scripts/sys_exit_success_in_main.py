# script
import sys


def main():
    print("all good")
    return 0


if __name__ == "__main__":
    sys.exit(main())
