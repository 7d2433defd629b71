from datetime import datetime, timedelta
def main(args):
    t = datetime(2026, 2, 28, 23, 59)
    out = []
    while len(out) < 3:
        t += timedelta(minutes=1)
        if t.minute == 0 and t.hour in (0, 12) and t.weekday() < 5:
            out.append(t.isoformat())
    return out
