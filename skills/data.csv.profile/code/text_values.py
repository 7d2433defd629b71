"""Counts the values of a text column part by part.

A few different values are counted as they are. Once there are too many of them for that, each value
is kept as a hash of 64 bits, and the text of the most frequent ones is looked up in the file again.
The key of the hashes is drawn anew for each run.
"""

import secrets

import numpy as np
import pandas as pd

from dates import DateWatch, are_dates, earliest_and_latest
from ranking import Ranking
from row_hashes import MISSING
from shelf import Kept

# More distinct values, or letters of them, are hashed. In memory a value takes about 80 bytes.
MOST_VALUES = 100_000
MOST_LETTERS = 8 << 20
# So are those of a column in which every other value is new.
SOME_VALUES = 10_000
# Texts that are kept, in the hope that the most frequent ones are among them.
KNOWN_VALUES = 50_000
KNOWN_LETTERS = 4 << 20

# As many frequent values as are asked for: bars of a picture, and those that must look like dates.
SHOWN = 20
DATE_SAMPLE = 200

HASH_KEY = secrets.token_hex(8)


def hashes_of(texts):
    """Returns a hash of 64 bits for each of `texts`."""
    array = np.array([*texts, None], dtype=object)[:-1]
    return pd.util.hash_array(array, hash_key=HASH_KEY, categorize=False)


class TextValues:
    """What is known of the values of a text column: counts, lengths, dates."""

    def __init__(self, shelf):
        self.count = 0
        self.min_length, self.max_length = None, None
        self.kept = Kept(shelf)
        self._counts = {}
        self._letters = 0
        self._hashed = None

    def take(self, column):
        """Counts a part, and returns an identity for each field: equal for equal values."""
        codes, uniques = pd.factorize(column.to_numpy(dtype=object))
        texts = list(uniques)
        counts = np.bincount(codes[codes >= 0], minlength=len(texts))
        hashes = hashes_of(texts)
        self._measure(texts)
        self.count += int(counts.sum())
        if self._hashed is None:
            self._count(texts, counts.tolist())
        else:
            self._hashed.take(texts, hashes)
            self.kept.put(hashes[codes[codes >= 0]])
        # The code of what is missing is -1: it picks the last one.
        return np.append(hashes, MISSING)[codes]

    def take_again(self, column):
        """Keeps a part of a column that was given up."""
        codes, uniques = pd.factorize(column.to_numpy(dtype=object))
        self.kept.put(hashes_of(uniques)[codes[codes >= 0]])

    def settle(self):
        """Describes the values as far as that is possible without their texts."""
        if self._hashed is None:
            ordered = sorted(self._counts.items(), key=lambda pair: pair[1], reverse=True)
            self._counts = None
            self.distinct = len(ordered)
            self.top = ordered[:SHOWN]
            self.dates = None
            texts = [text for text, _ in ordered]
            if are_dates(texts[:DATE_SAMPLE]):
                self.dates = earliest_and_latest(texts)
            return
        self._hashed.settle(self.kept)
        self.distinct = self._hashed.distinct

    def unknown(self):
        """Returns the hashes of the values whose texts have to be looked up."""
        return self._hashed.unknown() if self._hashed is not None else set()

    def learn(self, texts):
        """Takes the texts of values that were unknown, by their hashes."""
        if self._hashed is not None:
            self.top, self.dates = self._hashed.described(texts)

    def _measure(self, texts):
        if texts:
            lengths = list(map(len, texts))
            low, high = min(lengths), max(lengths)
            self.min_length = low if self.min_length is None else min(low, self.min_length)
            self.max_length = max(high, self.max_length or 0)

    def _count(self, texts, counts):
        before = len(self._counts)
        known = self._counts
        for text, count in zip(texts, counts, strict=True):
            if text in known:
                known[text] += count
            else:
                known[text] = count
                self._letters += len(text)
        is_new = len(known) - before
        is_varied = len(known) > SOME_VALUES and is_new * 2 > sum(counts)
        if len(known) > MOST_VALUES or self._letters > MOST_LETTERS or is_varied:
            self._begin_to_hash()

    def _begin_to_hash(self):
        texts = list(self._counts)
        counts = np.fromiter(self._counts.values(), dtype=np.int64, count=len(texts))
        self._counts = {}
        self._hashed = HashedValues()
        hashes = hashes_of(texts)
        self._hashed.take(texts, hashes)
        # Values come in the order of their first occurrence, and nobody asks for more than that.
        self.kept.put(np.repeat(hashes, counts))


class HashedValues:
    """The values of a column with many of them: a hash for each row, and some of the texts."""

    def __init__(self):
        self._watch = DateWatch()
        self._known = {}
        self._known_letters = 0

    def take(self, texts, hashes):
        """Looks at the distinct values of a part."""
        self._watch.take(texts)
        for text, value in zip(texts, hashes.tolist(), strict=True):
            if len(self._known) >= KNOWN_VALUES or self._known_letters > KNOWN_LETTERS:
                break
            if value not in self._known:
                self._known[value] = text
                self._known_letters += len(text)

    def settle(self, kept):
        """Counts the values by their hashes, which `kept` has for all rows."""
        ordered = kept.joined(np.dtype(np.uint64))
        ordered.sort()
        ranking = Ranking(ordered)
        self.distinct = len(ranking)
        size = max(DATE_SAMPLE, SHOWN) if self._watch.is_possible else SHOWN
        self._top = [(int(value), count) for value, count in ranking.top(size, kept.blocks)]
        self._extremes = None
        if self._watch.is_possible:
            self._extremes = [
                _most_frequent(texts, ranking, kept.blocks) for texts in self._watch.extremes()
            ]
        kept.clear()

    def unknown(self):
        """Returns the hashes in question whose texts are not known."""
        return {value for value, _ in self._top if value not in self._known}

    def described(self, texts):
        """Returns the most frequent values with their counts, and the extreme dates or None."""
        texts = texts | self._known
        top = [(texts[value], count) for value, count in self._top]
        sample = [text for text, _ in top[:DATE_SAMPLE]]
        is_date = self._extremes is not None and are_dates(sample)
        self._known = {}
        return top[:SHOWN], self._extremes if is_date else None


def _most_frequent(texts, ranking, blocks):
    """Returns the most frequent one of several ways to write the same moment."""
    if len(texts) == 1:
        return texts[0]
    by_hash = dict(zip(hashes_of(texts).tolist(), texts, strict=True))
    candidates = np.array(sorted(by_hash), dtype=np.uint64)
    return by_hash[int(ranking.ranked(candidates, blocks)[0])]
