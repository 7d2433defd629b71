def main(args):
    enc = lambda s, k: "".join(chr((ord(c) - 97 + k) % 26 + 97) if c.islower() else c for c in s)
    return [enc("hello, world", 3), enc(enc("hello", 3), -3)]
