import pandas as pd
def main(args):
    i = pd.DatetimeIndex(["2026-03-29 01:30", "2026-03-29 03:30"]).tz_localize("Europe/Paris")
    return [[str(x) for x in i], [str(x) for x in i.tz_convert("UTC")], str(i[1] - i[0])]
