# script
import argparse


def main():
    p = argparse.ArgumentParser(description="Demo")
    p.add_argument("--count", type=int, default=3)
    p.add_argument("--name", default="World")
    p.add_argument("-v", "--verbose", action="store_true")
    a = p.parse_args()
    for i in range(a.count):
        print(f"{i}: Hello, {a.name}!")
    print(a, p.prog)


if __name__ == "__main__":
    main()
