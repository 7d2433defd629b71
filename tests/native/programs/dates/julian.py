from datetime import date
def main(args):
    return [date(2026, 11, 21).toordinal() + 1721424.5, date.fromordinal(730000).isoformat(), (date(2026, 12, 25) - date(2026, 11, 21)).days]
