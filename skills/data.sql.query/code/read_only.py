"""Runs one reading query on an SQLite database in memory.

INVARIANT(read-only): whatever the text of a query says, it changes nothing and opens no file;
SQLite itself asks before each step, and only reading is granted.
"""

import re
import sqlite3

# A query's steps: reading columns, calling functions, common table expressions that recurse.
GRANTED = frozenset(
    [sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE]
)
GRANTED_PRAGMAS = frozenset(["table_info", "table_list", "table_xinfo"])

ONE_READING_STATEMENT = "only one reading statement is allowed: SELECT, WITH, VALUES or EXPLAIN"


class QueryError(ValueError):
    """The query cannot be answered; the message says why and what there is to query."""


class StandardDeviation:
    """The aggregate `stddev(x)`: of a sample, by Welford's method."""

    def __init__(self):
        self.count, self.mean, self.squares = 0, 0.0, 0.0

    def step(self, value):
        """Takes one value; NULL and text are left out."""
        if not isinstance(value, (int, float)):
            return
        self.count += 1
        distance = value - self.mean
        self.mean += distance / self.count
        self.squares += distance * (value - self.mean)

    def finalize(self):
        """Returns the deviation, or NULL for fewer than two values."""
        return (self.squares / (self.count - 1)) ** 0.5 if self.count > 1 else None


def matches(pattern, text):
    """The operator `text REGEXP pattern`."""
    return None if text is None else bool(re.search(pattern, str(text)))


def open_database():
    """Returns an empty database in memory that never touches a file."""
    database = sqlite3.connect(":memory:", isolation_level=None)
    database.execute("PRAGMA temp_store = MEMORY")
    return database


def start(database, query):
    """Begins to execute `query` and returns the cursor of its rows.

    Raises `QueryError` for anything that does not read, and for what SQLite rejects.
    """
    database.create_function("regexp", 2, matches, deterministic=True)
    database.create_aggregate("stddev", 1, StandardDeviation)
    database.execute("PRAGMA query_only = ON")
    database.set_authorizer(_authorize)
    try:
        cursor = database.execute(query)
    except sqlite3.Error as error:
        raise explained(error) from None
    if cursor.description is None:
        raise QueryError(ONE_READING_STATEMENT)
    return cursor


def explained(error):
    """Returns the `QueryError` for an error of SQLite."""
    message = str(error)
    if "authoriz" in message or "prohibited" in message or "one statement" in message:
        return QueryError(ONE_READING_STATEMENT)
    if "user-defined function raised" in message:
        return QueryError("a pattern after REGEXP is no valid regular expression")
    return QueryError(message)


def _authorize(action, first, _second, _database, _trigger):
    if action in GRANTED:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and first in GRANTED_PRAGMAS:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY
