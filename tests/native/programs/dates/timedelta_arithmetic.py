from datetime import date, datetime, timedelta, timezone


def human(td):
    s = int(td.total_seconds())
    d, s = divmod(s, 86400)
    h, s = divmod(s, 3600)
    m, s = divmod(s, 60)
    return f"{d}d {h:02}:{m:02}:{s:02}"


def main(args):
    a = datetime(2024, 3, 1, 1, 2, 3)
    b = datetime(2019, 12, 31, 23, 59, 59, 999999)
    td = a - b
    out = {"td": str(td), "human": human(td), "neg": str(-td), "repr": repr(timedelta(days=-1, seconds=5)), "div": td / timedelta(hours=1), "fl": td // timedelta(days=7), "mod": str(td % timedelta(days=7)), "mul": str(td * 1.5), "max": str(timedelta.max), "us": timedelta(microseconds=1).total_seconds(), "abs": str(abs(timedelta(-3))), "sum": str(sum([timedelta(hours=5), timedelta(minutes=70)], timedelta())), "wk": list(date(2024, 12, 30).isocalendar()), "ord": a.toordinal(), "cmp": date(2024, 1, 1) < date(2024, 1, 2)}
    for name, f in {"ov": lambda: datetime.max + timedelta(1), "mix": lambda: a - a.replace(tzinfo=timezone.utc), "cmp2": lambda: a < a.date(), "td": lambda: timedelta(days=10**10), "add": lambda: a + 5}.items():
        try:
            f()
        except Exception as e:
            out["e_" + name] = f"{type(e).__name__}: {e}"
    return out
