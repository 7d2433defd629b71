"""Sorts integers, then text."""


def main(args):
    numbers = [i * 7919 % 100003 for i in range(100000)]
    words = sorted(str(number) for number in numbers)
    numbers.sort()
    return [numbers[500], words[500]]
