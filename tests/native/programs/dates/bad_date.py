from datetime import datetime
def main(args):
    return datetime(2026, 2, 30)
