from datetime import date
from dateutil.relativedelta import relativedelta
def main(args):
    d = date(2024, 1, 31)
    return [str(d + relativedelta(months=i)) for i in range(1, 5)] + [str(relativedelta(date(2026, 11, 21), date(1990, 5, 3)))]
