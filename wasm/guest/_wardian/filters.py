"""Programs that read lines and write others: `sort`, `uniq`, `cut` and `tr`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from _wardian.descriptors import put, rest_of
from _wardian.program_parts import Refused, contents_of, each_option, lines_of, options_of, reason_of, said

_BLANKS = b" \t\n"


def _whole_lines(content: bytes) -> list[bytes]:
    return [line.removesuffix(b"\n") for line in lines_of(content)]


def _joined(lines: Sequence[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


# sort

_SORT_LONG = {
    "numeric-sort": "n", "reverse": "r", "unique": "u", "ignore-case": "f", "ignore-leading-blanks": "b",
    "stable": "s", "human-numeric-sort": "h", "key": "k", "field-separator": "t", "output": "o",
}  # fmt: skip
_KEY = re.compile(r"(\d+)(?:\.(\d+))?([bfhnr]*)(?:,(\d+)(?:\.(\d+))?([bfhnr]*))?")
_SIZES = b"KMGTPEZY"


class _Key:
    """A part of a line by which lines are sorted."""

    def __init__(self, text: str, separator: bytes | None, general: frozenset[str]) -> None:
        match = _KEY.fullmatch(text)
        if match is None:
            raise Refused(f"the key '{text}' is not understood here")
        first, letter, begin_options, last, end_letter, end_options = match.groups()
        if first == "0" or letter == "0" or last == "0":
            raise Refused(f"the key '{text}' is not understood here: fields and letters are counted from 1")
        own = frozenset((begin_options or "") + (end_options or ""))
        self.options = own or general
        self._skips = "b" in (begin_options if own else general), "b" in ((end_options or "") if own else general)
        self._separator = separator
        self._first, self._letter = int(first) - 1, int(letter or 1) - 1
        self._last = None if last is None else int(last) - (0 if end_letter in (None, "0") else 1)
        self._end_letter = int(end_letter or 0)

    def of(self, line: bytes) -> bytes:
        """The part of a line."""
        begin = self._behind(line, self._first, False)
        begin = _skip(line, begin) if self._skips[0] else begin
        begin = min(begin + self._letter, len(line))
        end = len(line)
        if self._last is not None:
            end = self._behind(line, self._last, True)
            if self._end_letter:
                end = _skip(line, end) if self._skips[1] else end
                end = min(end + self._end_letter, len(line))
        return line[begin : max(begin, end)]

    def _behind(self, line: bytes, count: int, is_end: bool) -> int:
        """The place behind so many fields. At the end of a key the last separator does not belong to it."""
        at, size = 0, len(line)
        for turn in range(count):
            if self._separator is None:
                at = _skip(line, at)
                while at < size and line[at] not in _BLANKS:
                    at += 1
                continue
            found = line.find(self._separator, at)
            if found < 0:
                return size
            is_last = is_end and turn == count - 1 and not self._end_letter
            at = found if is_last else found + 1
        return at


def _skip(line: bytes, at: int) -> int:
    while at < len(line) and line[at] in _BLANKS:
        at += 1
    return at


_NUMBER = re.compile(rb"[ \t\n]*(-?)(\d*)(?:\.(\d*))?([KMGTPEZYk]?)")
_INVERTED = bytes.maketrans(b"0123456789", b"9876543210")


def _number(is_negative: bool, whole: bytes, rest: bytes) -> tuple[int, int, bytes]:
    """A number of any length in a form that is compared as it: its sign, its size and its digits."""
    if not whole and not rest:
        return 0, 0, b""
    digits = whole + b"." + rest
    return (-1, -len(whole), digits.translate(_INVERTED) + b"~") if is_negative else (1, len(whole), digits)


def _form(options: frozenset[str]) -> Callable[[bytes], Any]:
    """What parts of lines are compared by."""
    if "n" in options or "h" in options:

        def form(part: bytes) -> Any:
            match: Any = _NUMBER.match(part)
            sign, whole, rest, unit = match.groups()
            value = _number(bool(sign), whole.lstrip(b"0"), (rest or b"").rstrip(b"0"))
            order = _SIZES.find(unit.upper()) + 1 if unit and value[0] else 0
            return (value[0] * order, value) if "h" in options else value

        return form
    if "f" in options:
        return bytes.upper
    return lambda part: part


def sort(words: Sequence[str]) -> int:
    """Sorts lines, by their bytes."""
    options, files = each_option(words, "nrufbsh", "kto", _SORT_LONG)
    names = frozenset(letter for letter, _ in options)
    values = dict(options)
    general = names & frozenset("bfhnr")
    separator: bytes | None = None
    if "t" in names:
        text = {"\\t": "\t", "\\0": "\0"}.get(values["t"], values["t"])
        if len(text) != 1 or not text.isascii():
            raise Refused(f"the separator '{text}' is not one letter")
        separator = text.encode()
    keys = [_Key(value, separator, general) for letter, value in options if letter == "k"]
    lines: list[bytes] = []
    for path in files or ["-"]:
        try:
            if path == "-":
                lines += _whole_lines(rest_of(0))
            else:
                with open(path, "rb") as file:
                    lines += _whole_lines(file.read())
        except OSError as error:
            what = "read failed" if path != "-" and _is_folder(error) else "cannot read"
            said("sort", f"{what}: {path}: {reason_of(error)}")
            return 2
    parts: list[tuple[Callable[[bytes], Any], bool]] = []
    for key in keys:
        parts.append((_of_key(key), "r" in key.options))
    if not keys and general - {"r"}:
        whole = _form(general)
        skips = "b" in general
        parts.append(((lambda line: whole(line[_skip(line, 0) :])) if skips else whole, "r" in general))
    if not parts or not names & {"s", "u"}:
        lines.sort(reverse="r" in general)
    for form, is_reversed in reversed(parts):
        lines.sort(key=form, reverse=is_reversed)
    if "u" in names:
        lines = _without_equals(lines, [form for form, _ in parts])
    if "o" not in names:
        put(1, _joined(lines))
        return 0
    try:
        with open(values["o"], "wb") as out:
            out.write(_joined(lines))
    except OSError as error:
        said("sort", f"open failed: {values['o']}: {reason_of(error)}")
        return 2
    return 0


def _is_folder(error: OSError) -> bool:
    return isinstance(error, IsADirectoryError)


def _of_key(key: _Key) -> Callable[[bytes], Any]:
    form = _form(key.options)
    return lambda line: form(key.of(line))


def _without_equals(lines: list[bytes], forms: list[Callable[[bytes], Any]]) -> list[bytes]:
    found: list[bytes] = []
    before: Any = None
    for line in lines:
        value = [form(line) for form in forms] if forms else line
        if not found or value != before:
            found.append(line)
        before = value
    return found


# uniq


def uniq(words: Sequence[str]) -> int:
    """Leaves out lines that equal the one before."""
    longs = {"count": "c", "repeated": "d", "unique": "u", "ignore-case": "i"}
    options, files = options_of(words, "cdui", "", longs)
    if len(files) > 2:
        raise Refused(f"extra operand '{files[2]}'")
    found, code = contents_of("uniq", files[:1])
    if code:
        return code
    groups: list[tuple[bytes, int]] = []
    before: bytes | None = None
    for line in _whole_lines(found[0][1]):
        value = line.lower() if "i" in options else line
        if groups and value == before:
            groups[-1] = groups[-1][0], groups[-1][1] + 1
        else:
            groups.append((line, 1))
        before = value
    kept = [
        (b"%7d " % count if "c" in options else b"") + line
        for line, count in groups
        if not ("d" in options and count == 1) and not ("u" in options and count > 1)
    ]
    if len(files) == 2:
        try:
            with open(files[1], "wb") as out:
                out.write(_joined(kept))
        except OSError as error:
            return said("uniq", f"{files[1]}: {reason_of(error)}")
    else:
        put(1, _joined(kept))
    return 0


# cut


def _ranges(text: str) -> list[tuple[int, int | None]]:
    found: list[tuple[int, int | None]] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d*)(-?)(\d*)", part)
        if match is None or not (match[1] or match[3]) or (match[3] and not match[2]):
            raise Refused(f"invalid field or position '{part}'")
        first, last = int(match[1] or 1), int(match[3]) if match[3] else None
        if not match[2]:
            last = first
        if not first:
            raise Refused("fields and positions are numbered from 1")
        if last is not None and last < first:
            raise Refused("invalid decreasing range")
        found.append((first, last))
    return found


def _is_in(number: int, ranges: list[tuple[int, int | None]]) -> bool:
    return any(first <= number and (last is None or number <= last) for first, last in ranges)


def cut(words: Sequence[str]) -> int:
    """Writes parts of lines."""
    longs = {"delimiter": "d", "fields": "f", "characters": "c", "bytes": "b", "only-delimited": "s",
             "complement": "1", "output-delimiter": "2"}  # fmt: skip
    options, files = options_of(words, "s1", "dfcb2", longs)
    kinds = [letter for letter in "fcb" if letter in options]
    if len(kinds) != 1:
        raise Refused("one list of fields, bytes or characters is needed")
    is_field = kinds == ["f"]
    if not is_field and ("d" in options or "s" in options):
        raise Refused("a delimiter is for fields only")
    ranges = _ranges(options[kinds[0]])
    divider = options.get("d", "\t").encode("utf-8", "surrogateescape")
    if len(divider) != 1:
        raise Refused("the delimiter must be a single character")
    glue = options["2"].encode("utf-8", "surrogateescape") if "2" in options else divider if is_field else b""
    if not is_field and glue:
        raise Refused("an output delimiter is for fields only here")
    is_wanted = "1" not in options
    found, code = contents_of("cut", files)
    for _, content in found:
        kept = []
        for line in _whole_lines(content):
            parts = line.split(divider) if is_field else [line[at : at + 1] for at in range(len(line))]
            if is_field and len(parts) == 1:
                if "s" not in options:
                    kept.append(line)
                continue
            kept.append(glue.join(part for at, part in enumerate(parts, 1) if _is_in(at, ranges) is is_wanted))
        put(1, _joined(kept))
    return code


# tr

_SET_CLASSES: dict[str, Callable[[int], bool]] = {
    "alpha": lambda byte: chr(byte).isalpha(), "digit": lambda byte: chr(byte).isdigit(),
    "alnum": lambda byte: chr(byte).isalnum(), "upper": lambda byte: chr(byte).isupper(),
    "lower": lambda byte: chr(byte).islower(), "space": lambda byte: byte in b" \t\n\r\f\v",
    "blank": lambda byte: byte in b" \t", "punct": lambda byte: 32 < byte < 127 and not chr(byte).isalnum(),
    "cntrl": lambda byte: byte < 32 or byte == 127, "xdigit": lambda byte: byte in b"0123456789abcdefABCDEF",
    "print": lambda byte: 32 <= byte < 127, "graph": lambda byte: 32 < byte < 127,
}  # fmt: skip
_SET_ESCAPES = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92}


def _letters(text: str) -> list[int]:
    """The bytes of a set, in their order."""
    data = text.encode("utf-8", "surrogateescape")
    found: list[tuple[int, bool]] = []  # and whether it was escaped
    at = 0
    whole: list[int] = []

    def spread() -> None:
        position = 0
        while position < len(found):
            value, is_escaped = found[position]
            is_range = position + 2 < len(found) and found[position + 1] == (45, False)
            if not is_range:
                whole.append(value)
                position += 1
                continue
            last = found[position + 2][0]
            if last < value:
                raise Refused(f"range-endpoints of '{chr(value)}-{chr(last)}' are in reverse collating sequence order")
            whole.extend(range(value, last + 1))
            position += 3
        found.clear()

    while at < len(data):
        named = re.compile(rb"\[:(\w+):\]").match(data, at)
        if named:
            name = named[1].decode()
            if name not in _SET_CLASSES:
                raise Refused(f"invalid character class '{name}'")
            spread()
            whole.extend(byte for byte in range(128) if _SET_CLASSES[name](byte))
            at = named.end()
        elif re.compile(rb"\[(=.=|.\*\d*)\]", re.S).match(data, at):
            raise Refused("[=c=] and [c*n] are not understood here")
        elif data[at] == 92 and at + 1 < len(data):
            octal = re.compile(rb"\\([0-7]{1,3})").match(data, at)
            if octal:
                found.append((int(octal[1], 8) & 255, True))
                at = octal.end()
            else:
                letter = chr(data[at + 1])
                found.append((_SET_ESCAPES.get(letter, data[at + 1]), True))
                at += 2
        else:
            found.append((data[at], False))
            at += 1
    spread()
    return whole


def tr(words: Sequence[str]) -> int:
    """Replaces, removes or squeezes letters of the input, which are bytes."""
    longs = {"complement": "c", "delete": "d", "squeeze-repeats": "s", "truncate-set1": "t"}
    options, sets = options_of(words, "cCdst", "", longs)
    is_delete, is_squeeze = "d" in options, "s" in options
    needed = (2 if is_delete and is_squeeze else 1) if is_delete or is_squeeze else 2
    if len(sets) < needed:
        raise Refused(f"missing operand after '{sets[-1]}'" if sets else "missing operand")
    if len(sets) > (2 if not is_delete or is_squeeze else 1):
        raise Refused(f"extra operand '{sets[-1]}'")
    first = _letters(sets[0])
    if "c" in options or "C" in options:
        chosen = set(first)
        first = [byte for byte in range(256) if byte not in chosen]
    second = _letters(sets[1]) if len(sets) > 1 else []
    data = rest_of(0)
    if is_delete:
        data = data.translate(None, bytes(first))
    elif second or len(sets) > 1:
        if not second:
            raise Refused("when not truncating set1, string2 must be non-empty")
        if "t" in options:
            first = first[: len(second)]
        table = list(range(256))
        for place, byte in enumerate(first):
            table[byte] = second[min(place, len(second) - 1)]
        data = data.translate(bytes(table))
    if is_squeeze:
        squeezed = bytes(second or first)
        if squeezed:
            data = re.sub(rb"([" + b"".join(b"\\x%02x" % byte for byte in set(squeezed)) + rb"])\1+", rb"\1", data)
    put(1, data)
    return 0


PROGRAMS: dict[str, Callable[[Sequence[str]], int]] = {"cut": cut, "sort": sort, "tr": tr, "uniq": uniq}
"""The programs by their names."""
