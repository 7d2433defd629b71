# script
def main(args):
    return {"value": 5}

if __name__ == "__main__":
    print(main({}))
