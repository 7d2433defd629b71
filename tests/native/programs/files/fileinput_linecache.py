import fileinput, linecache
def main(args):
    open("f", "w").write("a\nb\n")
    with fileinput.input("f", inplace=True) as f:
        for l in f: print(l.strip().upper())
    return [open("f").read(), linecache.getline("f", 2)]
