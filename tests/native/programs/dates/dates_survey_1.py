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
    answers.append(attempt(lambda: D(2024,2,29).replace(year=2025)))
    answers.append(attempt(lambda: D(2024,2,29)+T(365)))
    answers.append(attempt(lambda: D(2024,1,1).isocalendar()))
    answers.append(attempt(lambda: D(2024,1,1).strftime('%A %d %B %Y %j %U %W %V %G %u %w %y %I %p %f %Z %z %c %x %X %D %F %T %R %e %k %l %s %n%t%% %h %C %E %g')))
    answers.append(attempt(lambda: D.strptime('2024-01-02 03:04:05.678', '%Y-%m-%d %H:%M:%S.%f')))
    answers.append(attempt(lambda: D.strptime('Jan 5, 24', '%b %d, %y')))
    answers.append(attempt(lambda: D.strptime('12:30 PM', '%I:%M %p')))
    answers.append(attempt(lambda: D.strptime('2024-W05-1', '%G-W%V-%u')))
    answers.append(attempt(lambda: D.strptime('+05:30', '%z')))
    answers.append(attempt(lambda: D.fromisoformat('2024-01-02T03:04:05Z')))
    answers.append(attempt(lambda: D.fromisoformat('20240102')))
    answers.append(attempt(lambda: D.fromisoformat('2024-W01-1')))
    answers.append(attempt(lambda: D.fromtimestamp(1e9, Z.utc)))
    answers.append(attempt(lambda: D.fromtimestamp(-1.5, Z.utc)))
    answers.append(attempt(lambda: D.fromtimestamp(2**33)))
    answers.append(attempt(lambda: D(2040,1,1).timestamp()))
    answers.append(attempt(lambda: D(1900,1,1).timestamp()))
    answers.append(attempt(lambda: D(1,1,1).toordinal()))
    answers.append(attempt(lambda: D.max))
    answers.append(attempt(lambda: T.max))
    answers.append(attempt(lambda: T(days=-1, seconds=1)))
    answers.append(attempt(lambda: str(T(days=-1, hours=5))))
    answers.append(attempt(lambda: T(hours=5)/T(minutes=7)))
    answers.append(attempt(lambda: T(5)//2))
    answers.append(attempt(lambda: T(seconds=1.5)*2.5))
    answers.append(attempt(lambda: divmod(T(10), T(3))))
    answers.append(attempt(lambda: T(1)%T(hours=5)))
    answers.append(attempt(lambda: abs(T(-1))))
    answers.append(attempt(lambda: T(days=10**8).total_seconds()))
    answers.append(attempt(lambda: date.today() <= date.max))
    return answers
