from datetime import datetime
from zoneinfo import ZoneInfo
def main(args):
    d = datetime(2026, 7, 1, 12, tzinfo=ZoneInfo("America/New_York"))
    return [d.astimezone(ZoneInfo(z)).isoformat() for z in ("Europe/Berlin", "Asia/Kolkata", "Pacific/Auckland", "UTC")] + [d.tzname(), str(d.utcoffset())]
