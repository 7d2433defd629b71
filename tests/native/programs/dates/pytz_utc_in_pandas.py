# The one UTC of pytz is that of pandas, and errors are those of a pandas that knows pytz.
import copy
import datetime
import pickle

import pandas as pd
import pytz


def told(call):
    try:
        return str(call())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def main(args):
    utc = pytz.UTC
    ours = pd.Series(pd.date_range("2024-01-01", periods=2, tz=utc))
    theirs = pd.Series(pd.date_range("2024-01-01", periods=2, tz="UTC"))
    plain = pd.Series(pd.date_range("2024-01-01", periods=2, tz=datetime.timezone.utc))
    eastern = pytz.timezone("US/Eastern")
    return {
        "types": [
            str(pd.concat(pair).dtype) for pair in ((ours, theirs), (ours, plain), (plain, theirs))
        ],
        "same": [
            ours.dtype == theirs.dtype, utc is pytz.utc, utc is pytz.timezone("utc"),
            pickle.loads(pickle.dumps(utc)) is utc, copy.deepcopy(utc) is utc,
            isinstance(utc, pytz.tzinfo.BaseTzInfo), pytz.FixedOffset(0) is utc,
        ],
        "shown": [repr(utc), utc.zone, str(utc.localize(datetime.datetime(2020, 1, 1)))],
        "offset": [repr(pytz.FixedOffset(90)), str(pd.Timestamp("2020-01-01", tz=pytz.FixedOffset(90)))],
        "errors": [
            told(lambda: pd.Timestamp("2023-03-12 02:30").tz_localize(eastern)),
            told(lambda: pd.Timestamp("2023-11-05 01:30").tz_localize(eastern)),
            told(lambda: pd.Timestamp("2023-11-05 01:30").tz_localize(eastern, ambiguous=True)),
        ],
        "merged": str(
            pd.DataFrame({"at": ours, "a": 1}).merge(pd.DataFrame({"at": theirs, "b": 2})).shape
        ),
    }
