"""Adds small integers in a loop."""


def main(args):
    total = 0
    for i in range(1000000):
        total = (total + i * 3) % 1000003
    return total
