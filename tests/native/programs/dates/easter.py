from dateutil.easter import easter
from dateutil.rrule import rrule, MONTHLY, FR
from datetime import datetime
def main(args):
    return [str(easter(2026)), [str(d.date()) for d in rrule(MONTHLY, count=3, byweekday=FR(-1), dtstart=datetime(2026, 1, 1))]]
