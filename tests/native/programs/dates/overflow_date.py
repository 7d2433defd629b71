from datetime import date, timedelta
def main(args):
    return str(date(9999, 12, 31) + timedelta(days=1))
