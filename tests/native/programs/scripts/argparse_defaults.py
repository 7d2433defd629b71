# script
import argparse

def main():
    p = argparse.ArgumentParser()
    p.add_argument("--n", type=int, default=3)
    a = p.parse_args()
    print("n =", a.n)

if __name__ == "__main__":
    main()
