# script
def main(n):
    total = sum(range(n))
    print(f"total={total}")
    return total

if __name__ == "__main__":
    main(10)
