import pickle
from datetime import datetime, timezone, timedelta
def main(args):
    d = datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    return [pickle.loads(pickle.dumps(d)) == d, str(d), hash(timedelta(1)) == hash(timedelta(hours=24))]
