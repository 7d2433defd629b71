import calendar
def main(args):
    return [calendar.month(2026, 2), calendar.isleap(2100), calendar.monthrange(2024, 2), calendar.TextCalendar(6).formatweekheader(3), list(calendar.day_name)]
