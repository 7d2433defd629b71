def main(args):
    return [repr(0.1 + 0.2), str(1e16), str(1e22), repr(5e-324), round(2.675, 2), round(0.5), round(1.5), round(-2.5), float("1e308") * 10 == float("inf"), (0.1).hex(), 1e15 + 0.3]
