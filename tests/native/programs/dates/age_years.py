from datetime import date
def main(args):
    def age(b, t):
        return t.year - b.year - ((t.month, t.day) < (b.month, b.day))
    return [age(date(2000, 2, 29), date(2026, 2, 28)), age(date(1990, 12, 31), date(2026, 11, 21))]
