# script
import sys
def main():
    print("exiting well")
    return 0

if __name__ == "__main__":
    sys.exit(main())
