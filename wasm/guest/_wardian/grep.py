"""`grep`, with the options that scripts use."""

from __future__ import annotations

import errno
import fnmatch
import os
import re
import stat
from collections.abc import Iterator, Sequence
from typing import Any

from _wardian.descriptors import put, rest_of
from _wardian.program_parts import Refused, each_option, lines_of, reason_of, said

_LONG = {
    "regexp": "e", "ignore-case": "i", "no-ignore-case": "j", "invert-match": "v", "word-regexp": "w",
    "line-regexp": "x", "count": "c", "files-with-matches": "l", "files-without-match": "L", "only-matching": "o",
    "quiet": "q", "silent": "q", "no-messages": "s", "line-number": "n", "with-filename": "H", "no-filename": "h",
    "recursive": "r", "dereference-recursive": "R", "extended-regexp": "E", "fixed-strings": "F",
    "basic-regexp": "G", "perl-regexp": "P", "text": "a", "max-count": "m", "after-context": "A",
    "before-context": "B", "context": "C", "include": "1", "exclude": "2", "exclude-dir": "3", "color": "4",
    "colour": "4",
}  # fmt: skip
_KNOWN, _VALUES = "ijvwxclLoqsnHhrREFGPa", "emABC1234"
_COLOURS = ("auto", "never")
_CLASSES = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "space": r"\s",
    "blank": r" \t", "punct": re.escape("!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~"), "xdigit": "0-9A-Fa-f",
    "word": r"\w", "cntrl": r"\x00-\x1f\x7f", "print": r"\x20-\x7e\u00a0-\U0010ffff",
    "graph": r"\x21-\x7e\u00a1-\U0010ffff",
}  # fmt: skip
_ESCAPES = {"<": r"\b(?=\w)", ">": r"\b(?<=\w)", "b": r"\b", "B": r"\B", "w": r"\w", "W": r"\W", "s": r"\s", "S": r"\S",
            "`": r"\A", "'": r"\Z"}  # fmt: skip
_ANCHORS = frozenset({"^", "$", *(_ESCAPES[letter] for letter in "<>bB`'")})


class Pattern:
    """A regular expression of POSIX in the form of Python's `re`."""

    def __init__(self, text: str, is_extended: bool) -> None:
        self._text, self._is_extended = text, is_extended
        self._at = 0
        self._groups = 0

    def translated(self) -> str:
        """The expression for `re`.

        Raises:
            Refused: It is wrong, or means something that `re` cannot express.
        """
        found = self._alternatives(0)
        if self._at < len(self._text):
            raise Refused("Unmatched ) or \\)")
        return found

    def _sign(self) -> tuple[str, bool]:
        """What stands here, and whether it is an operator and not a letter."""
        text = self._text
        letter = text[self._at]
        if letter == "\\":
            if self._at + 1 == len(text):
                raise Refused("Trailing backslash")
            following = text[self._at + 1]
            is_operator = following in "(){}|+?" and not self._is_extended
            return following if is_operator else f"\\{following}", is_operator
        return letter, letter in "*[.^$" or (self._is_extended and letter in "(){}|+?")

    def _skip(self, sign: str) -> None:
        self._at += 2 if self._text[self._at] == "\\" else 1

    def _alternatives(self, depth: int) -> str:
        branches = [self._branch(depth)]
        while self._at < len(self._text):
            sign, is_operator = self._sign()
            if not is_operator or sign != "|":
                break
            self._skip(sign)
            branches.append(self._branch(depth))
        return "|".join(branches)

    def _branch(self, depth: int) -> str:
        atoms: list[str] = []
        while self._at < len(self._text):
            sign, is_operator = self._sign()
            if is_operator and (sign == "|" or sign == ")" and (depth or not self._is_extended)):
                break
            if is_operator and sign in "*+?{":
                bounds = self._repetition(sign, bool(atoms) and atoms[-1] != "^")
                if bounds is not None:
                    atom = atoms.pop()
                    if atom in _ANCHORS:
                        raise Refused("the repetition of an anchor is not understood here")
                    atoms.append(f"(?:{atom}){bounds}" if len(atom) > 1 and not atom.startswith("(?:") else atom + bounds)
                    if atoms[-1][-1] in "*+?}":
                        atoms[-1] = f"(?:{atoms[-1]})"
                    continue
                atoms.append(re.escape(sign))
                continue
            atoms.append(self._atom(sign, is_operator, depth, not atoms))
        return "".join(atoms)

    def _repetition(self, sign: str, has_atom: bool) -> str | None:
        """The operator as `re` has it; `None` for a letter that stands for itself."""
        start = self._at
        self._skip(sign)
        if sign != "{":
            if not has_atom and self._is_extended:
                raise Refused(f"{sign} has nothing to repeat")
            return sign if has_atom else None
        end = r"\}" if not self._is_extended else r"}"
        match = re.compile(r"(\d*)(,?)(\d*)" + (r"\\}" if end == r"\}" else "}")).match(self._text, self._at)
        if match is None or not (match[1] or match[3]) or not has_atom:
            if self._is_extended:
                if match is not None:
                    raise Refused("{ has nothing to repeat" if not has_atom else "Invalid content of \\{\\}")
                return None
            self._at = start
            raise Refused("Invalid preceding regular expression" if not has_atom else "Invalid content of \\{\\}")
        self._at = match.end()
        first, comma, last = match.groups()
        if max(int(first or 0), int(last or 0)) > 32767:
            raise Refused("Regular expression too big")
        return f"{{{first or 0}{comma}{last}}}"

    def _atom(self, sign: str, is_operator: bool, depth: int, is_first: bool) -> str:
        self._skip(sign)
        if not is_operator:
            if len(sign) == 1:
                return re.escape(sign)
            return self._escaped(sign[1])
        if sign == "[":
            return self._bracket()
        if sign == ".":
            return "."
        if sign == "^":
            return "^" if is_first or self._is_extended else r"\^"
        if sign == "$":
            return "$" if self._is_extended or self._is_end() else r"\$"
        if sign == "(":
            self._groups += 1
            inner = self._alternatives(depth + 1)
            if self._at == len(self._text):
                raise Refused("Unmatched ( or \\(")
            self._skip(")")
            return f"({inner})"
        if sign in ")}" and self._is_extended:
            return re.escape(sign)
        raise Refused(f"Unmatched \\{sign}")

    def _escaped(self, letter: str) -> str:
        if letter in _ESCAPES:
            return _ESCAPES[letter]
        if letter.isdigit():
            if letter == "0" or int(letter) > self._groups:
                raise Refused("Invalid back reference")
            return f"(?:\\{letter})"
        if letter.isalpha():
            raise Refused(f"the escape \\{letter} is not known: [0-9] stands for digits, and -P knows more")
        return re.escape(letter)

    def _is_end(self) -> bool:
        if self._at == len(self._text):
            return True
        return self._sign() in ((")", True), ("|", True))

    def _bracket(self) -> str:
        text, parts = self._text, []
        is_negated = text.startswith("^", self._at)
        self._at += is_negated
        start = self._at
        while True:
            if self._at >= len(text):
                raise Refused("Unmatched [, [^, [:, [., or [=")
            if text[self._at] == "]" and self._at > start:
                self._at += 1
                break
            named = re.compile(r"\[:(\w+):\]").match(text, self._at)
            if named:
                if named[1] not in _CLASSES:
                    raise Refused("Invalid character class name")
                parts.append(_CLASSES[named[1]])
                self._at = named.end()
                continue
            if text[self._at : self._at + 2] in ("[.", "[="):
                raise Refused("[. and [= are not understood here")
            letter = text[self._at]
            self._at += 1
            if text[self._at : self._at + 1] == "-" and text[self._at + 1 : self._at + 2] not in ("]", ""):
                last = text[self._at + 1]
                if letter > last:
                    raise Refused("Invalid range end")
                parts.append(f"{re.escape(letter)}-{re.escape(last)}")
                self._at += 2
            else:
                parts.append(re.escape(letter))
        return f"[{'^' if is_negated else ''}{''.join(parts)}]"


def _perl(text: str) -> str:
    """An expression of Perl, which `re` mostly understands. `\\K` marks where what is shown begins."""
    before, mark, behind = text.partition(r"\K")
    if not mark:
        return text
    if "|" in text or re.search(r"\\\d|\\K", before + behind):
        raise Refused(r"\K with | or \1 is not understood here")
    return f"(?:{before})(?P<shown>{behind})"


class _Grep:
    """One call: its options, and what it has found."""

    def __init__(self, options: list[tuple[str, str]], patterns: list[str]) -> None:
        given = dict(options)
        self.names = given
        kinds = [letter for letter, _ in options if letter in "EFGP"]
        kind = kinds[-1] if kinds else "G"
        cases = [letter for letter, _ in options if letter in "ij"]
        self.expression = self._compiled(patterns, kind, re.IGNORECASE if cases[-1:] == ["i"] else 0)
        self.has_choice = "|" in self.expression.pattern and kind != "P"
        context = self._number("C", 0)
        self.before, self.after = self._number("B", context), self._number("A", context)
        self.most = self._number("m", -1)
        self.has_context = bool(given.keys() & set("ABC"))
        self.included = [value for letter, value in options if letter == "1"]
        self.excluded = [value for letter, value in options if letter == "2"]
        self.closed = [value.rstrip("/") for letter, value in options if letter == "3"]
        self.is_recursive = bool(given.keys() & set("rR"))
        self.has_found = self.has_failed = self.has_printed = False

    def _number(self, letter: str, otherwise: int) -> int:
        text = self.names.get(letter)
        if text is None:
            return otherwise
        if not re.fullmatch(r"\d{1,9}", text):
            raise Refused(f"{text}: invalid {'max count' if letter == 'm' else 'context length argument'}")
        return int(text)

    def _compiled(self, patterns: list[str], kind: str, flags: int) -> re.Pattern[str]:
        forms = []
        for text in "\n".join(patterns).split("\n"):
            if kind == "F":
                form = re.escape(text)
            elif kind == "P":
                form = _perl(text)
            else:
                form = Pattern(text, kind == "E").translated()
            forms.append(f"(?:{form})" if len(patterns) > 1 or "w" in self.names or "x" in self.names else form)
        if len(forms) > 1 and any(re.search(r"\\\d", form) for form in forms):
            raise Refused("several patterns with back references are not understood here")
        whole = "|".join(forms)
        if "x" in self.names:
            whole = f"^(?:{whole})$"
        elif "w" in self.names:
            whole = rf"(?<!\w)(?:{whole})(?!\w)"
        try:
            return re.compile(whole, flags)
        except (re.error, OverflowError, RecursionError) as error:
            raise Refused(f"the expression is not understood here: {error}") from None

    # Files.

    def fail(self, path: str, reason: str) -> None:
        """Notes an error, and says it unless that is unwanted."""
        self.has_failed = True
        if "s" not in self.names:
            said("grep", f"{path}: {reason}")

    def search(self, paths: list[str]) -> None:
        """Searches files, folders and the input."""
        is_default = not paths
        paths = paths or (["."] if self.is_recursive else ["-"])
        for path in paths:
            is_folder = path != "-" and os.path.isdir(path)
            has_names = "H" in self.names or len(paths) > 1 or (self.is_recursive and is_folder)
            has_names = has_names and "h" not in self.names or self._last("Hh") == "H"
            if path == "-":
                self._file("(standard input)", rest_of(0), has_names)
            elif is_folder and not self.is_recursive:
                self.fail(path, os.strerror(errno.EISDIR))
            elif is_folder:
                for file in self._below(path):
                    self._read(file[2:] if is_default and file.startswith("./") else file, has_names)
            elif self._is_wanted(path):
                self._read(path, has_names)
            if self.has_found and "q" in self.names:
                return

    def _last(self, letters: str) -> str:
        return ([letter for letter in self.names if letter in letters] or [""])[-1]

    def _is_wanted(self, path: str) -> bool:
        name = os.path.basename(path)
        is_excluded = any(fnmatch.fnmatchcase(name, one) for one in self.excluded)
        is_included = any(fnmatch.fnmatchcase(name, one) for one in self.included)
        return not is_excluded and (is_included or not self.included)

    def _below(self, folder: str) -> Iterator[str]:
        try:
            names = sorted(os.listdir(folder))
        except OSError as error:
            self.fail(folder, reason_of(error))
            return
        for name in names:
            path = f"{folder.rstrip('/')}/{name}" if folder != "/" else f"/{name}"
            try:
                found = os.stat(path) if "R" in self.names else os.lstat(path)
            except OSError as error:
                self.fail(path, reason_of(error))
                continue
            if stat.S_ISDIR(found.st_mode):
                if not any(fnmatch.fnmatchcase(name, one) for one in self.closed):
                    yield from self._below(path)
            elif stat.S_ISREG(found.st_mode) and self._is_wanted(path):
                yield path

    def _read(self, path: str, has_names: bool) -> None:
        try:
            with open(path, "rb") as file:
                content = file.read()
        except OSError as error:
            self.fail(path, reason_of(error))
            return
        self._file(path, content, has_names)

    # Lines.

    def _file(self, path: str, content: bytes, has_names: bool) -> None:
        names = self.names
        lines = [line.removesuffix(b"\n").decode("utf-8", "surrogateescape") for line in lines_of(content)]
        wanted = "v" not in names
        chosen: list[int] = []
        for number, line in enumerate(lines):
            if self.most >= 0 and len(chosen) >= self.most:
                break
            if (self.expression.search(line) is not None) is wanted:
                chosen.append(number)
                if "q" in names or names.keys() & {"l", "L"}:
                    break
        self.has_found = self.has_found or (not chosen if "L" in names else bool(chosen))
        prefix = f"{path}:" if has_names else ""
        if "q" in names:
            return
        if names.keys() & {"l", "L"}:
            if bool(chosen) is ("L" not in names):
                self._put(f"{path}\n")
        elif "c" in names:
            self._put(f"{prefix}{len(chosen)}\n")
        elif chosen and "a" not in names and _is_binary(content):
            said("grep", f"{path}: binary file matches")
        else:
            self._show(path if has_names else None, lines, chosen)

    def _show(self, path: str | None, lines: list[str], chosen: list[int]) -> None:
        shown: dict[int, str] = {}
        for number in chosen:
            for near in range(max(number - self.before, 0), min(number + self.after + 1, len(lines))):
                shown.setdefault(near, "-")
        if self.most >= 0 and chosen:  # the context behind the last one ends at what would be the next
            last = chosen[-1]
            for near in range(last + 1, last + self.after + 1):
                is_next = near in shown and (self.expression.search(lines[near]) is not None) is ("v" not in self.names)
                if is_next:
                    for number in range(near, last + self.after + 1):
                        shown.pop(number, None)
                    break
        shown.update(dict.fromkeys(chosen, ":"))
        before: int | None = None
        for number in sorted(shown):
            sign = shown[number]
            is_gap = (before is None and self.has_printed) or (before is not None and number > before + 1)
            if is_gap and self.has_context and (self.before or self.after):
                self._put("--\n")
            before = number
            self.has_printed = True
            prefix = f"{path}{sign}" if path is not None else ""
            prefix += f"{number + 1}{sign}" if "n" in self.names else ""
            if "o" not in self.names:
                self._put(f"{prefix}{lines[number]}\n")
            elif sign == ":" and "v" not in self.names:
                for part in self._parts(lines[number]):
                    self._put(f"{prefix}{part}\n")

    def _parts(self, line: str) -> Iterator[str]:
        at = 0
        while at <= len(line):
            match = self.expression.search(line, at)
            if match is None:
                return
            group: Any = "shown" if "shown" in self.expression.groupindex else 0
            begin, end = match.span(group)
            if self.has_choice:  # the longest one counts, and not the first
                longer = (far for far in range(len(line), end, -1) if self.expression.fullmatch(line, begin, far))
                end = next(longer, end)
            if end > begin:
                yield line[begin:end]
            at = max(end, match.start() + 1)

    def _put(self, text: str) -> None:
        put(1, text.encode("utf-8", "surrogateescape"))


def _is_binary(content: bytes) -> bool:
    if b"\0" in content:
        return True
    try:
        content.decode()
    except UnicodeDecodeError:
        return True
    return False


def main(words: Sequence[str], kind: str = "") -> int:
    """Runs `grep`, or `egrep` and `fgrep`, whose letter is `kind`."""
    first = [word for word in words if word in ("--color", "--colour")]
    options, rest = each_option([word for word in words if word not in first], _KNOWN, _VALUES, _LONG)
    options = [("E" if kind == "E" else "F", ""), *options] if kind else options
    colours = [value for letter, value in options if letter == "4"]
    if any(value not in _COLOURS for value in colours):
        raise Refused(f"--color={colours[-1]} is not understood here")
    patterns = [value for letter, value in options if letter == "e"]
    if not patterns:
        if not rest:
            raise Refused("a pattern is missing")
        patterns = [rest.pop(0)]
    call = _Grep(options, patterns)
    call.search(rest)
    if call.has_failed and not (call.has_found and "q" in call.names):
        return 2
    return 0 if call.has_found else 1
