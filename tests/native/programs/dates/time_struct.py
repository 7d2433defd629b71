import time
def main(args):
    t = time.strptime("2026-11-21 10:11:12", "%Y-%m-%d %H:%M:%S")
    return [list(t), time.asctime(t), time.strftime("%c", t), time.strftime("%x %X", t), time.tzname, time.timezone, time.daylight]
