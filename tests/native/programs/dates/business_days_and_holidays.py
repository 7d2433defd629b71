from datetime import date, timedelta
import calendar
import numpy as np
import pandas as pd
from pandas.tseries.holiday import USFederalHolidayCalendar
from pandas.tseries.offsets import BDay, BMonthEnd, CustomBusinessDay, Easter


def easter(y):
    a, b, c = y % 19, y // 100, y % 100
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    l = (32 + 2 * e + 2 * i - h - k) % 7
    m = (a + 11 * h + 19 * l) // 433
    n = (h + l - 7 * m + 90) // 25
    return date(y, n, (h + l - 7 * m + 33 * n + 19) % 32)


def main(args):
    hol = USFederalHolidayCalendar().holidays("2024-01-01", "2024-12-31")
    cbd = CustomBusinessDay(holidays=["2024-12-25", "2024-12-26"])
    return {"easter": [easter(y).isoformat() for y in (2024, 2025, 2026)], "hol": hol.strftime("%m-%d").tolist(), "bd": np.busday_count("2024-01-01", "2024-12-31").item(), "off": str(np.busday_offset("2024-03-29", 3, roll="forward", holidays=["2024-04-01"])), "is": np.is_busday(["2024-06-01", "2024-06-03"]).tolist(),
            "plus": str(pd.Timestamp("2024-12-24") + 2 * cbd), "bme": str(pd.Timestamp("2024-06-10") + BMonthEnd()), "bday": str(pd.Timestamp("2024-06-14 10:00") + BDay(3)), "pe": str(pd.Timestamp("2024-01-01") + Easter()), "rng": len(pd.bdate_range("2024-01-01", "2024-12-31", freq="C", holidays=list(hol))), "cal": calendar.monthcalendar(2024, 2)[-1], "range": calendar.monthrange(2023, 2), "third": [d.isoformat() for d in calendar.Calendar().itermonthdates(2024, 11) if d.weekday() == 4 and 15 <= d.day <= 21 and d.month == 11], "bdmul": (np.busday_count("2024-01-01", "2024-12-31") * 10**10).item()}
