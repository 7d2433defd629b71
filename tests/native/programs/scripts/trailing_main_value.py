# script
def main():
    print("computing")
    return 7

print(main())
