# refused: ModuleNotFoundError: zoneinfo
import pytz

print(pytz.timezone("Europe/Berlin"))
