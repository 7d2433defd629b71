# refused: OverflowError: 32-bit addresses
import sys
from collections import deque


def main(args):
    buf = deque(maxlen=sys.maxsize)
    for i in range(5):
        buf.append(i)
    return list(buf)
