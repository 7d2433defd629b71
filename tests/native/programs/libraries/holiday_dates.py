import datetime

import holidays


def main(args):
    austria, texas = holidays.country_holidays("AT", years=2024), holidays.US(state="TX", years=2024)
    return [
        [f"{day}: {name}" for day, name in sorted(austria.items())],
        texas.get("2024-03-02"), datetime.date(2024, 7, 4) in texas, "2024-12-24" in austria,
        holidays.Germany(subdiv="BY").get("2024-08-15"),
    ]
