# script
def main(n=5):
    print(sum(range(n)))

if __name__ == "__main__":
    main()
