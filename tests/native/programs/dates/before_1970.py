from datetime import datetime, timezone
import time
def main(args):
    return [datetime(1901, 1, 1, tzinfo=timezone.utc).timestamp(), datetime.fromtimestamp(-86400 * 365 * 80, timezone.utc).isoformat(), list(time.gmtime(-1))]
