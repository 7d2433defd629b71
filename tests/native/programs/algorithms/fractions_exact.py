from fractions import Fraction
def main(args):
    return [str(sum(Fraction(1, n) for n in range(1, 20))), str(Fraction(0.1).limit_denominator(100)), float(Fraction(22, 7))]
