import json
from datetime import datetime, date
def main(args):
    return json.dumps({"d": date(2026, 1, 2), "t": datetime(2026, 1, 2, 3)}, default=lambda o: o.isoformat())
