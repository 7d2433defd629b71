# script
import sys


def main(argv=None):
    argv = argv if argv is not None else sys.argv[1:]
    print("argv", argv, len(sys.argv))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
