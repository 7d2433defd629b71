# refused: ModuleNotFoundError: zoneinfo
import pytz
