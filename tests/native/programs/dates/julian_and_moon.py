import math
from datetime import date, datetime, timedelta


def julian(d):
    a = (14 - d.month) // 12
    y = d.year + 4800 - a
    m = d.month + 12 * a - 3
    return d.day + (153 * m + 2) // 5 + 365 * y + y // 4 - y // 100 + y // 400 - 32045


def moon(d):
    days = (d - date(2000, 1, 6)).days
    lun = days / 29.530588853
    return round(lun % 1, 6)


def sunrise(lat, doy):
    decl = 23.44 * math.sin(math.radians(360 / 365 * (doy - 81)))
    h = math.degrees(math.acos(-math.tan(math.radians(lat)) * math.tan(math.radians(decl))))
    return round(12 - h / 15, 8)


def main(args):
    d = date(2024, 7, 4)
    excel = (d - date(1899, 12, 30)).days
    return {"jd": julian(d), "moon": moon(d), "sun": [sunrise(l, d.timetuple().tm_yday) for l in (0, 51.5, -33.9)], "excel": excel, "unix": (d - date(1970, 1, 1)).days * 86400, "zod": "Rat Ox Tiger Rabbit Dragon".split()[(2024 - 4) % 12], "tt": list(d.timetuple()), "doomsday": ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][(2 + 5 * (2024 % 4) + 4 * (2024 % 100) + 6 * (2024 % 400)) % 7], "ctime": d.ctime(), "min": str(datetime.min), "hash": hash(d) == hash(date(2024, 7, 4))}
