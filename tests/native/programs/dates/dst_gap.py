from datetime import datetime, timedelta
from zoneinfo import ZoneInfo
def main(args):
    z = ZoneInfo("Europe/Berlin")
    a = datetime(2026, 3, 29, 2, 30, tzinfo=z)
    b = datetime(2026, 10, 25, 2, 30, tzinfo=z)
    return [str(a.utcoffset()), str(b.utcoffset()), str(b.replace(fold=1).utcoffset()), (b + timedelta(hours=1)).isoformat()]
