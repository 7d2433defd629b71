"""Reads all columns of a CSV blob part by part.

The file is read once if all goes well. It is read again from the start if a column turns out to
have another type than its first parts, and further times for columns whose values did not fit on
the shelf and for frequent texts that were kept as hashes only.
"""

from column import Column
from row_hashes import RowHashes
from shelf import Shelf
from text_values import hashes_of


class Table:
    """The `columns` of a CSV blob with what is known of them, its `rows` and `duplicate_rows`."""

    def __init__(self, source, make_shelf=Shelf):
        self._source = source
        self._make_shelf = make_shelf
        self._as_text, self._as_floats = set(), set()
        while not self._read():
            pass
        self.duplicate_rows = self._hashes.count_duplicates()
        self._hashes = None
        self._settle()
        self._look_up()
        self._shelf.clear()

    def mixed_names(self):
        """Returns the names of the columns that fit no single type."""
        return [self._source.names[position] for position in sorted(self._as_text)]

    def _read(self):
        """Reads all parts, and returns whether each column had the type that it was taken for."""
        width = len(self._source.names)
        self.rows = 0
        self._shelf = self._make_shelf()
        self._hashes = RowHashes(width)
        self.columns = [Column(n, self._shelf, n in self._as_floats) for n in range(width)]
        for part in self._source.parts(as_text=sorted(self._as_text)):
            self.rows += len(part)
            if self._hashes is None:
                for column in self.columns:
                    column.look_at(part[column.position])
            else:
                self._take(part)
        mixed = {column.position for column in self.columns if column.is_mixed()}
        floats = {c.position for c in self.columns if not c.is_mixed() and c.must_be_floats()}
        self._as_text |= mixed
        self._as_floats |= floats
        return not mixed and not floats

    def _take(self, part):
        self._hashes.begin(len(part), self._source.rows_to_come(len(part)))
        for column in self.columns:
            identities = column.take(part[column.position])
            if identities is None:
                # What follows is read for its types alone.
                self._hashes = self._shelf = None
                for each in self.columns:
                    each.values = None
                for each in self.columns[column.position + 1 :]:
                    each.look_at(part[each.position])
                return
            self._hashes.add(column.position, identities)

    def _settle(self):
        """Describes all columns; those whose values were given up are read again."""
        given_up = []
        for column in self.columns:
            if column.values is not None and column.values.kept and column.values.kept.is_given_up:
                given_up.append(column)
            else:
                column.settle(self.rows)
        while given_up:
            self._shelf.clear()
            size = max(1, self._shelf.room() // (8 * self.rows))
            group, given_up = given_up[:size], given_up[size:]
            self._read_again(group)
            for column in group:
                column.settle(self.rows)

    def _read_again(self, group):
        for column in group:
            column.values.kept.begin_again()
        for part in self._parts_of(group):
            for column in group:
                if not part[column.position].isna().all():
                    column.values.take_again(part[column.position])
        if any(column.values.kept.is_given_up for column in group):
            raise MemoryError

    def _look_up(self):
        """Finds the texts of frequent values that are known by their hashes alone."""
        hashed = [c for c in self.columns if c.values is not None and hasattr(c.values, "unknown")]
        wanted = {column: column.values.unknown() for column in hashed}
        found = {column: {} for column in hashed}
        searched = [column for column in hashed if wanted[column]]
        for part in self._parts_of(searched) if searched else ():
            for column in searched:
                if wanted[column]:
                    _find(part[column.position], wanted[column], found[column])
            if not any(wanted.values()):
                break
        for column in hashed:
            column.values.learn(found[column])

    def _parts_of(self, columns):
        positions = [column.position for column in columns]
        as_text = sorted(self._as_text.intersection(positions))
        return self._source.parts(positions, as_text)


def _find(part, wanted, found):
    """Moves the hashes that a part has texts for from `wanted` to `found`."""
    texts = part.dropna().unique()
    for value, text in zip(hashes_of(texts).tolist(), texts, strict=True):
        if value in wanted:
            wanted.remove(value)
            found[value] = text
