def main(args):
    with open("a.txt", "w") as f:
        f.write("one\ntwo\n")
    with open("a.txt", "a") as f:
        print("three", file=f)
    return [open("a.txt").read(), [l.rstrip() for l in open("a.txt")]]
