import pandas as pd
from pandas.tseries.holiday import USFederalHolidayCalendar
from pandas.tseries.offsets import CustomBusinessDay
def main(args):
    h = USFederalHolidayCalendar().holidays("2026-01-01", "2026-12-31")
    return [[str(x.date()) for x in h[:4]], str((pd.Timestamp("2026-11-25") + CustomBusinessDay(calendar=USFederalHolidayCalendar())).date())]
