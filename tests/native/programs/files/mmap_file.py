import mmap
def main(args):
    open("m", "wb").write(b"hello world")
    with open("m", "r+b") as f:
        m = mmap.mmap(f.fileno(), 0)
        a = m[:5]; m[0:5] = b"HELLO"; m.flush(); i = m.find(b"world"); m.close()
    return [a.decode(), open("m").read(), i]
