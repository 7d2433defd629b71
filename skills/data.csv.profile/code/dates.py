"""Tells whether texts are dates, and which of them is the first and the last one."""

import re

import pandas as pd

DATE = re.compile(
    r"\d{4}([-/])\d{2}\1\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?"
)
# Ways to write one moment that are told apart by how often they occur.
MOST_SPELLINGS = 10_000


def are_dates(sample):
    """Returns whether all of `sample` look like dates, and there is one."""
    return bool(sample) and all(map(DATE.fullmatch, sample))


def earliest_and_latest(texts):
    """Returns the first of `texts` with the earliest date and the first with the latest.

    None if not all are dates.
    """
    moments = moments_of(texts)
    return None if moments is None else (texts[moments.argmin()], texts[moments.argmax()])


def moments_of(texts):
    """Returns the dates that `texts` stand for; None if they are not all dates."""
    joined = "\n".join(texts)
    if "/" in joined:
        plain = joined.replace("/", "-").split("\n")
        texts = plain if len(plain) == len(texts) else [text.replace("/", "-") for text in texts]
    try:
        return pd.to_datetime(pd.Index(texts, dtype="str"), format="ISO8601", utc=True)
    except (ValueError, OverflowError):
        return None


class DateWatch:
    """Whether all texts so far are dates, and all ways in which the extremes are written."""

    def __init__(self):
        self.is_possible = True
        self._low, self._high = None, None
        self._lows, self._highs = {}, {}
        self._has_nanoseconds = False

    def take(self, texts):
        """Looks at some more texts."""
        if not self.is_possible or not texts:
            return
        moments = moments_of(texts)
        if moments is None:
            self.is_possible = False
            return
        self._has_nanoseconds |= moments.unit == "ns"
        low, high = moments.min(), moments.max()
        if self._low is None or low <= self._low:
            self._lows = self._lows if low == self._low else {}
            self._low = low
            self._note(self._lows, texts, moments == low)
        if self._high is None or high >= self._high:
            self._highs = self._highs if high == self._high else {}
            self._high = high
            self._note(self._highs, texts, moments == high)
        if self._has_nanoseconds:
            # pandas would keep all of them as nanoseconds; some dates are too far away for that.
            self.is_possible = _fits_nanoseconds(self._low) and _fits_nanoseconds(self._high)

    def extremes(self):
        """Returns the texts of the earliest date, and those of the latest."""
        return list(self._lows), list(self._highs)

    def _note(self, spellings, texts, is_extreme):
        for position in is_extreme.nonzero()[0][: MOST_SPELLINGS - len(spellings)]:
            spellings[texts[position]] = None


def _fits_nanoseconds(moment):
    try:
        moment.as_unit("ns")
    except (ValueError, OverflowError):
        return False
    return True
