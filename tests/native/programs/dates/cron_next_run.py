from datetime import datetime, timedelta


def expand(f, lo, hi):
    out = set()
    for p in f.split(","):
        step = 1
        if "/" in p:
            p, s = p.split("/")
            step = int(s)
        a, b = (lo, hi) if p == "*" else map(int, p.split("-")) if "-" in p else (int(p), int(p))
        out |= set(range(a, b + 1, step))
    return out


def nxt(expr, now):
    mi, h, dm, mo, dw = (expand(f, lo, hi) for f, (lo, hi) in zip(expr.split(), ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))))
    t = now.replace(second=0, microsecond=0) + timedelta(minutes=1)
    while not (t.minute in mi and t.hour in h and t.day in dm and t.month in mo and t.isoweekday() % 7 in dw):
        t += timedelta(minutes=1)
    return t


def main(args):
    n = datetime(2024, 2, 28, 23, 50)
    return {e: nxt(e, n).isoformat(" ") for e in ("*/15 * * * *", "0 9 * * 1-5", "30 6 1 * *", "0 0 29 2 *")}
