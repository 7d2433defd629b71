def work(n):
    data = bytearray(8_000_000)
    try:
        raise ValueError(n)
    except ValueError as e:
        keep = e
    return len(data)


def main(args):
    return sum(work(i) for i in range(150))
