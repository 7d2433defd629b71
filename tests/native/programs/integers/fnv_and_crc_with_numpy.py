import zlib

import numpy as np


def fnv1a(data):
    h = np.uint64(14695981039346656037)
    prime = np.uint64(1099511628211)
    with np.errstate(over="ignore"):
        for b in data:
            h = (h ^ np.uint64(b)) * prime
    return int(h)


def lcg(seed, n):
    state = np.uint32(seed)
    out = []
    with np.errstate(over="ignore"):
        for _ in range(n):
            state = state * np.uint32(1664525) + np.uint32(1013904223)
            out.append(int(state))
    return out


def main(args):
    data = b"The quick brown fox"
    return {
        "fnv": fnv1a(data),
        "lcg": lcg(42, 5),
        "crc": zlib.crc32(data),
        "adler": zlib.adler32(data),
        "shift": int(np.int64(1) << np.int64(40)),
        "xor": int(np.bitwise_xor.reduce(np.arange(100) * 10**9)),
        "neg": int(~np.int64(2**40)),
    }
