import sys
def main(args):
    return [sys.stdin.read(), sys.stdin.readline(), list(sys.stdin)]
