def main(args):
    with open("b.bin", "wb+") as f:
        f.write(bytes(range(10))); f.seek(-3, 2); a = f.read(); f.seek(2); f.truncate(5); f.seek(0)
        return [a.hex(), f.read().hex(), f.tell()]
