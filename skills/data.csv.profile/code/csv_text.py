"""Finds out how a CSV blob is written: its character encoding and its delimiter.

Knows nothing of columns or types. Other skills carry the same file, because a skill has to be
complete in its own folder.
"""

import codecs
import csv
import io
import itertools

DELIMITERS = (",", ";", "\t", "|")
DELIMITER_NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|"}

# It gives nearly every byte a meaning: text in any Western single-byte encoding stays readable.
FALLBACK_ENCODING = "cp1252"

# Longest first: the mark of UTF-32 begins with the mark of UTF-16.
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

SIGNATURES = (
    (b"PK\x03\x04", "a ZIP archive or an Excel workbook"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook"),
    (b"%PDF-", "a PDF document"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"PAR1", "a Parquet file"),
    (b"SQLite format 3\x00", "an SQLite database"),
)

# The csv module stops at 128 KiB by default; a field may be as long as memory allows.
csv.field_size_limit(1 << 28)

SAMPLE_BYTES = 64 << 10
SAMPLE_ROWS = 100
BLOCK_BYTES = 1 << 20


def ensure_text(sample):
    """Raises `ValueError` if the first bytes belong to a well-known binary format."""
    for signature, what in SIGNATURES:
        if sample.startswith(signature):
            raise ValueError(f"the blob is {what}, not CSV text")


def encoding_of_zeros(sample):
    """Returns the UTF-16 that zeros in every other byte stand for; None for text without zeros.

    Raises `ValueError` for bytes that look like no text at all.
    """
    zeros = sample.count(0)
    if zeros * 10 < len(sample) or not zeros:
        return None
    if zeros * 3 > len(sample) and sample[1::2].count(0) > 0.9 * zeros:
        return "utf-16-le"
    if zeros * 3 > len(sample) and sample[::2].count(0) > 0.9 * zeros:
        return "utf-16-be"
    raise ValueError("the blob is binary data, not CSV text")


def resolve_encoding(name):
    """Returns Python's name of the text encoding `name`, or None for `auto`."""
    if name in (None, "", "auto"):
        return None
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError):
        found = None
    if found is None or not getattr(found, "_is_text_encoding", True):
        raise ValueError(
            f"unknown `encoding` `{name}`: use `auto` or a name such as `utf-8`, `cp1252`, "
            "`latin-1`, `cp1251`, `shift_jis` or `gb18030`"
        )
    return found.name


def detect_encoding(stream):
    """Returns the encoding of the whole stream and the offset of the first byte that is no UTF-8.

    The offset is None if the text is UTF-8 or says by a byte order mark what it is.
    """
    stream.seek(0)
    block = stream.read(BLOCK_BYTES)
    for mark, encoding in BYTE_ORDER_MARKS:
        if block.startswith(mark):
            return encoding, None
    wide = encoding_of_zeros(block[:SAMPLE_BYTES])
    if wide is not None:
        return wide, None
    decoder = codecs.getincrementaldecoder("utf-8")()
    offset = 0
    while True:
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            return FALLBACK_ENCODING, offset - pending + error.start
        if not block:
            return "utf-8", None
        offset += len(block)
        block = stream.read(BLOCK_BYTES)


def resolve_delimiter(name):
    """Returns the delimiter that `name` stands for, or None for `auto`."""
    if name in (None, "", "auto"):
        return None
    delimiter = DELIMITER_NAMES.get(name, name)
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise ValueError(f"`delimiter` must be one character, `tab` or `auto`, not `{name}`")
    return delimiter


def first_rows(text, delimiter, is_complete):
    """Returns the first rows of `text` that are not blank, or none if it is no CSV.

    The last row is left out unless `is_complete`, because it may be cut in the middle.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        rows = [row for row in itertools.islice(reader, SAMPLE_ROWS) if row]
    except csv.Error:
        return []
    return rows if is_complete else rows[:-1]


def detect_delimiter(text, is_complete):
    """Returns the delimiter that cuts the rows of `text` most evenly; a comma if none cuts them."""
    best, best_score = ",", (0.0, 0)
    for delimiter in DELIMITERS:
        widths = [len(row) for row in first_rows(text, delimiter, is_complete)]
        if not widths or widths[0] < 2:
            continue
        common = max(set(widths), key=widths.count)
        score = (widths.count(common) / len(widths), common)
        if score > best_score:
            best, best_score = delimiter, score
    return best


class CsvText:
    """How one CSV blob is written: `encoding`, `errors`, `delimiter`, and its `first_rows`."""

    def __init__(self, stream, encoding=None, delimiter=None):
        sample = stream.read(SAMPLE_BYTES)
        is_complete = len(sample) < SAMPLE_BYTES
        ensure_text(sample)
        self.warnings = []
        self.errors = "strict"
        self.encoding = resolve_encoding(encoding)
        if self.encoding is None:
            self.encoding, bad_offset = detect_encoding(stream)
            if bad_offset is not None:
                self.errors = "replace"
                self.warnings.append(
                    f"the text is not UTF-8 (byte {bad_offset}); it was read as {self.encoding}: "
                    "pass `encoding` if letters look wrong"
                )
        text = codecs.getincrementaldecoder(self.encoding)("replace").decode(sample)
        text = text.removeprefix("\ufeff")
        self.is_blank = is_complete and not text.strip()
        self.delimiter = resolve_delimiter(delimiter) or detect_delimiter(text, is_complete)
        self.first_rows = first_rows(text, self.delimiter, is_complete)

    def explain(self, error):
        """Returns the `ValueError` to raise for text that its encoding cannot decode."""
        return ValueError(
            f"the text is not {self.encoding}: byte {error.start} cannot be decoded; pass "
            "`encoding`, or `auto` to have it detected"
        )
