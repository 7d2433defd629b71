"""The types of columns: found in texts and in values, and applied to them."""

import datetime
import decimal
import json
import re

INTEGER, NUMBER, BOOLEAN, DATE, DATETIME, TIME, TEXT, MIXED = (
    "integer",
    "number",
    "boolean",
    "date",
    "datetime",
    "time",
    "text",
    "mixed",
)

# The texts that pandas takes for missing. In a column of text they stay text.
MISSING = frozenset(
    "|#N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|<NA>|N/A|NA|NULL|NaN|None|n/a"
    "|nan|null".split("|")
)

# A number with zeros in front is a code such as a postal one. One with a plus sign or with more
# digits than a double keeps stays text, too.
WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)?(?:\.[0-9]+|\.)?(?:[eE][+-]?[0-9]{1,3})?")
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.][0-9]{1,6})?)?"
    r"(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
)
DOUBLE_DIGITS = 15

# The same for many texts at once, each on its line. Unusual ones are looked at one by one.
MANY = (
    (INTEGER, re.compile(r"(?:-?(?:0|[1-9][0-9]{0,17})\n|\n)*")),
    (NUMBER, re.compile(r"(?:-?(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{1,6})?\n|\n)*")),
    (BOOLEAN, re.compile(r"(?:true\n|false\n|\n)*")),
)


def kind_of_text(text):
    """Returns the narrowest kind that a text spells; None for a missing value."""
    if text in MISSING:
        return None
    first = text[0]
    if first.isdigit() or first in "-.":
        if WHOLE.fullmatch(text):
            return INTEGER if -(1 << 63) <= int(text) < 1 << 63 else TEXT
        if DECIMAL.fullmatch(text) and any(c.isdigit() for c in text.split("e")[0]):
            digits = re.sub(r"[eE].*", "", text).replace(".", "").lstrip("-0")
            is_kept = len(digits) <= DOUBLE_DIGITS + 2 and abs(float(text)) != float("inf")
            return NUMBER if is_kept else TEXT
        if DAY.fullmatch(text):
            return DATE if _is_valid(datetime.date.fromisoformat, text) else TEXT
        if MOMENT.fullmatch(text):
            return DATETIME if _is_valid(datetime.datetime.fromisoformat, text) else TEXT
    elif text in ("true", "false", "True", "False", "TRUE", "FALSE"):
        return BOOLEAN
    return TEXT


def kinds_of_texts(texts):
    """Returns the kinds of different texts; None stands for missing ones."""
    first = next((text for text in texts if text), "")
    if first[:1].isdigit() or first[:1] in "-tf":
        lines = "\n".join(texts) + "\n"
        if lines.count("\n") == len(texts):
            for kind, pattern in MANY:
                if first and pattern.fullmatch(lines):
                    return {kind, None}
    return set(map(kind_of_text, texts))


def _is_valid(parse, text):
    try:
        parse(text)
    except ValueError:
        return False
    return True


def kind_of_value(value):
    """Returns the kind of a value of JSON, of a workbook or of Parquet; None for a missing one."""
    if value is None:
        return None
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, int):
        return INTEGER
    if isinstance(value, (float, decimal.Decimal)):
        return NUMBER
    if isinstance(value, str):
        return TEXT
    if isinstance(value, datetime.datetime):
        return DATETIME
    if isinstance(value, datetime.date):
        return DATE
    if isinstance(value, datetime.time):
        return TIME
    return MIXED


def joined(kinds):
    """Returns the one kind of a column whose values have these `kinds`."""
    kinds = kinds - {None}
    if len(kinds) == 1:
        return next(iter(kinds))
    if kinds == {INTEGER, NUMBER}:
        return NUMBER
    return MIXED if kinds else TEXT


def joined_texts(kinds):
    """Returns the one kind of a column of texts, which is `text` if they differ."""
    kind = joined(kinds)
    return TEXT if kind == MIXED else kind


def parse_texts(texts, kind):
    """Returns the values that `texts` spell in a column of `kind`."""
    if kind == TEXT:
        return [text or None for text in texts]
    parse = PARSERS[kind]
    if MISSING.isdisjoint(texts):
        return list(map(parse, texts))
    return [None if text in MISSING else parse(text) for text in texts]


PARSERS = {
    INTEGER: int,
    NUMBER: float,
    BOOLEAN: lambda text: text.lower() == "true",
    DATE: datetime.date.fromisoformat,
    DATETIME: datetime.datetime.fromisoformat,
}


def as_text(value):
    """Returns a value as CSV has it: ISO dates, `true` and `false`, JSON for what is nested."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False, default=as_json)
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    return str(value)


def as_json(value):
    """Returns what stands for a value that JSON does not have."""
    if isinstance(value, decimal.Decimal):
        return float(value)
    return as_text(value)
