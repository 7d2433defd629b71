import tarfile, os
def main(args):
    os.mkdir("d"); open("d/f.txt", "w").write("hi")
    with tarfile.open("t.tar.gz", "w:gz") as t: t.add("d")
    with tarfile.open("t.tar.gz") as t:
        t.extractall("o", filter="data")
        return [sorted(t.getnames()), open("o/d/f.txt").read()]
