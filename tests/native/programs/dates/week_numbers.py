from datetime import date
def main(args):
    return [list(date(y, 1, 1).isocalendar()) for y in range(2020, 2028)] + [str(date.fromisocalendar(2026, 53, 1)), date(2026, 11, 21).strftime("%U")]
