from zoneinfo import ZoneInfo
def main(args):
    return str(ZoneInfo("Mars/Olympus"))
