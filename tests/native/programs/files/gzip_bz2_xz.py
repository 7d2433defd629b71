import gzip, bz2, lzma
def main(args):
    d = b"data " * 50
    with gzip.open("f.gz", "wt") as f: f.write("text\n")
    return [bz2.decompress(bz2.compress(d)) == d, lzma.decompress(lzma.compress(d)) == d, gzip.open("f.gz", "rt").read(), len(bz2.compress(d))]
