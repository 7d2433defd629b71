def main(args):
    def roman(n):
        out = ""
        for v, s in zip([1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1], "M CM D CD C XC L XL X IX V IV I".split()):
            out += s * (n // v); n %= v
        return out
    return [roman(1994), roman(2026)]
