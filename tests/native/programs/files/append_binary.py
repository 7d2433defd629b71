def main(args):
    for i in range(3):
        with open("l.bin", "ab") as f: f.write(bytes([i]))
    with open("l.bin", "r+b") as f: f.seek(1); f.write(b"\xff")
    return list(open("l.bin", "rb").read())
