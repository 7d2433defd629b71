# script
def run(n):
    return n + 1

if __name__ == "__main__":
    print("result:", run(41))
