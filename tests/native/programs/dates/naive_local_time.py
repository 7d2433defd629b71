import os
import time
from datetime import datetime


def main(args):
    d = datetime(2024, 1, 15, 12)
    return {"ts": d.timestamp(), "from": datetime.fromtimestamp(0).isoformat(), "local": d.astimezone().isoformat(), "tz": time.tzname, "off": time.timezone, "dst": time.daylight, "gm": list(time.gmtime(86400 * 365)), "lt": time.localtime(1e9).tm_hour, "mk": time.mktime((2024, 2, 30, 0, 0, 0, 0, 0, -1)), "st": time.strftime("%a %d %b %Y %H:%M:%S %Z %z", time.localtime(0)),
            "asc": time.asctime(time.gmtime(0)), "ctime": time.ctime(1700000000), "neg": datetime.fromtimestamp(-1e9).isoformat(), "big": datetime.fromtimestamp(2**33).isoformat(), "sp": list(time.strptime("30 Nov 00", "%d %b %y"))[:6], "tzenv": os.environ.get("TZ") in (None, "UTC"), "max": time.gmtime(2**40).tm_year}
