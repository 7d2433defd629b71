import datetime as dt, calendar, time, zoneinfo
from datetime import datetime as D, timedelta as T, timezone as Z, date
from zoneinfo import ZoneInfo as ZI
import dateutil.parser as dp, dateutil.relativedelta as rd, dateutil.rrule as rr, dateutil.tz as tz


def shown(value):
    """A value as JSON can express it, with its type."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return [str(value.dtype), shown(value.tolist())]
    if isinstance(value, dict):
        return [[shown(key), shown(item)] for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    if type(value).__module__.startswith("pandas") and hasattr(value, "to_csv"):
        return value.to_csv()
    return str(value)


def attempt(action):
    try:
        return shown(action())
    except Exception as error:
        return type(error).__name__


def main(args):
    answers = []
    answers.append(attempt(lambda: D.fromisoformat('nope')))
    answers.append(attempt(lambda: D(2024,1,1) - D(2024,1,1,tzinfo=Z.utc)))
    answers.append(attempt(lambda: D(2024,1,1) < D(2024,1,1,tzinfo=Z.utc)))
    answers.append(attempt(lambda: ZI('No/Where')))
    answers.append(attempt(lambda: D.fromtimestamp(1e20)))
    answers.append(attempt(lambda: T(10**10)))
    answers.append(attempt(lambda: D.max + T(1)))
    answers.append(attempt(lambda: date(2024,1,1) + 5))
    answers.append(attempt(lambda: calendar.monthrange(2024,2)))
    answers.append(attempt(lambda: calendar.isleap(1900)))
    answers.append(attempt(lambda: calendar.month(2024,2)))
    answers.append(attempt(lambda: calendar.monthcalendar(2024,2)))
    answers.append(attempt(lambda: calendar.leapdays(2000,2025)))
    answers.append(attempt(lambda: calendar.timegm((2024,1,1,0,0,0))))
    answers.append(attempt(lambda: calendar.day_name[0]))
    answers.append(attempt(lambda: list(calendar.Calendar(6).itermonthdays(2024,2))[:9]))
    answers.append(attempt(lambda: calendar.TextCalendar(6).formatmonth(2024,2)))
    answers.append(attempt(lambda: calendar.weekday(2024,2,29)))
    answers.append(attempt(lambda: calendar.month_abbr[5]))
    answers.append(attempt(lambda: calendar.weekheader(3)))
    answers.append(attempt(lambda: time.gmtime(0)))
    answers.append(attempt(lambda: time.strftime('%Y', time.gmtime(0))))
    answers.append(attempt(lambda: time.mktime((2024,1,1,0,0,0,0,0,0))))
    answers.append(attempt(lambda: time.mktime((2050,1,1,0,0,0,0,0,0))))
    answers.append(attempt(lambda: time.localtime(2**33).tm_year))
    answers.append(attempt(lambda: time.gmtime(-1)))
    answers.append(attempt(lambda: time.strptime('2024','%Y')))
    answers.append(attempt(lambda: time.asctime(time.gmtime(0))))
    return answers
