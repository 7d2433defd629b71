from decimal import MAX_EMAX, MAX_PREC, Context, Decimal


def main(args):
    c = Context(prec=MAX_PREC, Emax=MAX_EMAX)
    return {"prec": MAX_PREC, "emax": MAX_EMAX, "v": str(c.multiply(Decimal(3), Decimal(7)))}
