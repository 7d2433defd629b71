import time
from datetime import datetime
def main(args):
    return [list(time.localtime(0)), str(datetime.fromtimestamp(1_700_000_000)), datetime(2026, 6, 1).astimezone().isoformat()]
