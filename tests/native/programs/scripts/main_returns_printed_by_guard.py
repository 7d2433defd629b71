# script
def main():
    return sum(range(10))


if __name__ == "__main__":
    print(main())
