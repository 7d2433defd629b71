from decimal import Decimal, ROUND_HALF_UP, getcontext
def main(args):
    getcontext().prec = 30
    total = sum(Decimal(x) for x in ["19.99", "5.01", "0.005"])
    return [str(total), str(total.quantize(Decimal("0.01"), ROUND_HALF_UP)), str(Decimal(1) / 7), str(Decimal("1E+5").normalize())]
