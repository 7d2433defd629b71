import os

os.environ["TZ"] = "Asia/Tokyo"
from datetime import datetime


def main(args):
    return {"local": datetime.fromtimestamp(1720000000).isoformat()}
