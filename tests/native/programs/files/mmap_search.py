import mmap


def main(args):
    with open("big.bin", "wb") as f:
        f.write(b"header" + b"\0" * 5000 + b"NEEDLE" + b"x" * 100)
    with open("big.bin", "r+b") as f, mmap.mmap(f.fileno(), 0) as m:
        pos = m.find(b"NEEDLE")
        m[0:6] = b"HEADER"
        m.flush()
        size = len(m)
        m.seek(pos)
        word = m.read(6).decode()
    return {"pos": pos, "size": size, "word": word, "head": open("big.bin", "rb").read(6).decode()}
