from datetime import datetime, date, time, timezone
def main(args):
    d = datetime.fromisoformat("2026-03-29T01:30:00+01:00")
    return [d.isoformat(), d.astimezone(timezone.utc).isoformat(), d.timestamp(), date.fromisoformat("2024-02-29").toordinal(), str(time.fromisoformat("04:05:06.789"))]
