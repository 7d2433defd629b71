# script
def main():
    print("once")

main()
