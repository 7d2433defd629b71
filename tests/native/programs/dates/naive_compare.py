from datetime import datetime, timezone
def main(args):
    return datetime(2026, 1, 1) < datetime(2026, 1, 1, tzinfo=timezone.utc)
