import time, calendar
from datetime import datetime, timezone
def main(args):
    t = calendar.timegm((2100, 1, 1, 0, 0, 0))
    return [t, time.strftime("%Y-%m-%d", time.gmtime(t)), datetime.fromtimestamp(t, timezone.utc).isoformat(), time.mktime(time.localtime(t)), datetime(2050, 1, 1).timestamp()]
