# script
def main():
    data = [3, 1, 2]
    print(sorted(data))
    return {"n": len(data)}


if __name__ == "__main__":
    main()
