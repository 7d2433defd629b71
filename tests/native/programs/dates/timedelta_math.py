from datetime import datetime, timedelta
def main(args):
    d = datetime(2026, 11, 21, 8) - datetime(2026, 10, 1, 23, 30)
    return [str(d), d.total_seconds(), d // timedelta(hours=1), str(d % timedelta(days=1)), str(timedelta(days=-1, seconds=5)), repr(timedelta(microseconds=1500))]
