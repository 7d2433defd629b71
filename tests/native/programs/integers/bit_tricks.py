def main(args):
    x = 0xDEADBEEFCAFEBABE
    return [x.bit_count(), x >> 17, x & 0xFFFFFFFF, ~x, (x << 3) % (2**61 - 1), x.to_bytes(8, "big").hex(), int.from_bytes(b"\xff" * 9, "little")]
