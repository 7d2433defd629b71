from datetime import datetime, timezone
def main(args):
    return [datetime.fromtimestamp(253402300799, timezone.utc).isoformat(), datetime.max.replace(tzinfo=timezone.utc).timestamp()]
