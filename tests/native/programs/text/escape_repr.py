def main(args):
    return [repr("a\n\t'\"\\\x00\u200b"), ascii("ü€"), repr(b"\x00\xff'"), str([1, "a", None, 2.0, (1,), {1: 2}, {3}]), f"{'x'!r:>5}"]
