# refused: NotImplementedError: zoneinfo
import os
import time
from datetime import datetime


def main(args):
    os.environ["TZ"] = "America/New_York"
    time.tzset()
    return {"local": datetime.fromtimestamp(1720000000).isoformat(), "name": time.tzname, "off": time.timezone, "dst": time.localtime(1720000000).tm_isdst}
