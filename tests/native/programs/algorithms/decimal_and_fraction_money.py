from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation, getcontext, localcontext
from fractions import Fraction


def main(args):
    getcontext().prec = 50
    pi = sum(Decimal(1) / 16**k * (Decimal(4) / (8 * k + 1) - Decimal(2) / (8 * k + 4) - Decimal(1) / (8 * k + 5) - Decimal(1) / (8 * k + 6)) for k in range(40))
    p, r, n = Decimal("250000"), Decimal("0.045") / 12, 360
    pay = (p * r * (1 + r) ** n / ((1 + r) ** n - 1)).quantize(Decimal("0.01"), ROUND_HALF_UP)
    out = {"pi": str(pi), "pay": str(pay), "sqrt": str(Decimal(2).sqrt()), "exp": str(Decimal(1).exp()), "ln": str(Decimal(10).ln()), "q": [str(Decimal(x).quantize(Decimal("0.1"), ROUND_HALF_EVEN)) for x in ("0.25", "0.35")], "float": str(Decimal(0.1)), "t": str(Decimal("-1.20E+5").as_tuple()), "n": str(Decimal("1.500").normalize()), "fmt": f"{Decimal('1234567.891'):,.2f}", "eng": Decimal("12300000").to_eng_string(), "fr": str(Fraction("0.125") + Fraction(1, 3)), "lim": str(Fraction(3.14159265).limit_denominator(100)), "big": str(Fraction(2**70, 3**40)), "fl": float(Fraction(10**20, 3)), "cmp": Fraction(1, 2) == 0.5 == Decimal("0.5"), "hash": hash(Fraction(1, 2)) == hash(0.5), "huge": str(Decimal(10) ** 100000)[:12], "emax": getcontext().Emax, "round": round(Fraction(7, 2)), "mod": str(Decimal(-7) % 3), "f": f"{Fraction(1, 3):.4f}", "str": str(Decimal("1e-10")), "fma": str(Decimal(2).fma(3, 5)), "prec": str(getcontext())[:40]}
    with localcontext(prec=5):
        out["loc"] = str(Decimal(1) / 7)
    for s in ("abc", "1,5"):
        try:
            Decimal(s)
        except InvalidOperation as e:
            out[s] = str(e)
    try:
        Decimal(1) / 0
    except ZeroDivisionError as e:
        out["zd"] = f"{type(e).__name__} {e}"
    return out
