"""`find`: lists files below folders, by their names, types and sizes."""

from __future__ import annotations

import errno
import fnmatch
import os
import re
import stat
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from _wardian.descriptors import put
from _wardian.program_parts import Refused, reason_of, said


class _Found(NamedTuple):
    path: str
    name: str
    depth: int
    state: os.stat_result


class _Call:
    """One call: how deep it goes, and what it does with files."""

    def __init__(self) -> None:
        self.least, self.most = 0, 1 << 30
        self.is_depth_first = self.has_action = self.has_failed = False
        self.is_pruned = False
        self.is_over = False


_Test = Callable[[_Found], bool]
_TYPES: dict[str, Callable[[int], bool]] = {"f": stat.S_ISREG, "d": stat.S_ISDIR, "l": stat.S_ISLNK}
_UNITS = {"c": 1, "w": 2, "b": 512, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_DAY = 86_400


class _Expression:
    """Reads the tests and actions behind the folders."""

    def __init__(self, words: list[str], call: _Call) -> None:
        self._words, self._call, self._at = words, call, 0

    def whole(self) -> _Test:
        if not self._words:
            return lambda found: True
        test = self._either()
        if self._at < len(self._words):
            raise Refused(f"the expression is wrong at '{self._words[self._at]}'")
        return test

    def _next(self) -> str:
        return self._words[self._at] if self._at < len(self._words) else ""

    def _value(self, name: str) -> str:
        self._at += 1
        if self._at > len(self._words):
            raise Refused(f"missing argument to '{name}'")
        return self._words[self._at - 1]

    def _either(self) -> _Test:
        tests = [self._all()]
        while self._next() in ("-o", "-or"):
            self._at += 1
            tests.append(self._all())
        return tests[0] if len(tests) == 1 else lambda found: any(test(found) for test in tests)

    def _all(self) -> _Test:
        tests = [self._not()]
        while self._next() not in ("", ")", "-o", "-or"):
            if self._next() in ("-a", "-and"):
                self._at += 1
            tests.append(self._not())
        return tests[0] if len(tests) == 1 else lambda found: all(test(found) for test in tests)

    def _not(self) -> _Test:
        if self._next() in ("!", "-not"):
            self._at += 1
            test = self._not()
            return lambda found: not test(found)
        if self._next() == "(":
            self._at += 1
            test = self._either()
            if self._next() != ")":
                raise Refused("a ( has no )")
            self._at += 1
            return test
        return self._primary()

    def _primary(self) -> _Test:
        if self._at >= len(self._words):
            raise Refused("the expression ends too early")
        name = self._words[self._at]
        self._at += 1
        call = self._call
        if name in ("-name", "-iname", "-path", "-wholename", "-ipath"):
            return _named(name, self._value(name))
        if name == "-type":
            kinds = self._value(name).split(",")
            if any(kind not in _TYPES for kind in kinds):
                raise Refused(f"-type {','.join(kinds)} is not understood here")
            return lambda found: any(_TYPES[kind](found.state.st_mode) for kind in kinds)
        if name in ("-maxdepth", "-mindepth"):
            text = self._value(name)
            if not re.fullmatch(r"\d{1,9}", text):
                raise Refused(f"{name} needs a number, not '{text}'")
            if name == "-maxdepth":
                call.most = int(text)
            else:
                call.least = int(text)
            return lambda found: True
        if name == "-size":
            return _sized(self._value(name))
        if name in ("-mtime", "-mmin"):
            return _aged(self._value(name), _DAY if name == "-mtime" else 60, name)
        if name == "-newer":
            moment = os.stat(self._value(name)).st_mtime_ns
            return lambda found: found.state.st_mtime_ns > moment
        if name == "-empty":
            return _is_empty
        if name in ("-true", "-false"):
            return lambda found: name == "-true"
        if name == "-depth":
            call.is_depth_first = True
            return lambda found: True
        return self._action(name)

    def _action(self, name: str) -> _Test:
        call = self._call
        if name == "-prune":

            def prune(found: _Found) -> bool:
                call.is_pruned = True
                return True

            return prune
        call.has_action = True
        if name in ("-print", "-print0"):
            end = "\n" if name == "-print" else "\0"
            return lambda found: _print(found, end)
        if name == "-quit":

            def leave(found: _Found) -> bool:
                call.is_over = True
                return True

            return leave
        if name == "-delete":
            call.is_depth_first = True
            return self._delete
        if name in ("-exec", "-execdir", "-ok"):
            raise Refused(f"{name} is not understood here: `for f in $(find ...); do ...; done` runs programs")
        raise Refused(f"{name} is not understood here")

    def _delete(self, found: _Found) -> bool:
        if found.path == ".":
            return True
        try:
            (os.rmdir if stat.S_ISDIR(found.state.st_mode) else os.unlink)(found.path)
        except OSError as error:
            self._call.has_failed = True
            said("find", f"cannot delete ‘{found.path}’: {reason_of(error)}")
            return False
        return True


def _print(found: _Found, end: str) -> bool:
    put(1, f"{found.path}{end}".encode("utf-8", "surrogateescape"))
    return True


def _named(name: str, pattern: str) -> _Test:
    ignores_case = name.startswith("-i")
    pattern = pattern.lower() if ignores_case else pattern
    is_path = not name.endswith("name") or name == "-wholename"

    def test(found: _Found) -> bool:
        text = found.path if is_path else found.name
        return fnmatch.fnmatchcase(text.lower() if ignores_case else text, pattern)

    return test


def _compared(text: str, what: str) -> tuple[str, int]:
    match = re.fullmatch(r"([-+]?)(\d{1,15})", text)
    if match is None:
        raise Refused(f"{what} needs a number, not '{text}'")
    return match[1], int(match[2])


def _is_so(sign: str, value: int, bound: int) -> bool:
    return value > bound if sign == "+" else value < bound if sign == "-" else value == bound


def _sized(text: str) -> _Test:
    unit = _UNITS.get(text[-1:], 0)
    sign, bound = _compared(text[:-1] if unit else text, "-size")
    size = unit or 512
    return lambda found: _is_so(sign, -(-found.state.st_size // size), bound)


def _aged(text: str, unit: int, name: str) -> _Test:
    sign, bound = _compared(text, name)
    now = time.time()
    if unit == _DAY:
        return lambda found: _is_so(sign, int((now - found.state.st_mtime) // _DAY), bound)
    return lambda found: _is_so(sign, -(-int(now - found.state.st_mtime) // unit), bound)


def _is_empty(found: _Found) -> bool:
    if stat.S_ISDIR(found.state.st_mode):
        return not os.listdir(found.path)
    return stat.S_ISREG(found.state.st_mode) and found.state.st_size == 0


def _walk(path: str, name: str, depth: int, call: _Call, test: _Test, follows: bool) -> None:
    try:
        state = os.stat(path) if follows and os.path.exists(path) else os.lstat(path)
    except OSError as error:
        call.has_failed = True
        said("find", f"‘{path}’: {reason_of(error)}")
        return
    found = _Found(path, name, depth, state)
    is_folder = stat.S_ISDIR(state.st_mode)
    call.is_pruned = False
    if depth >= call.least and not call.is_depth_first:
        test(found)
    is_closed = call.is_pruned and not call.is_depth_first
    if is_folder and not is_closed and depth < call.most and not call.is_over:
        try:
            names = sorted(os.listdir(path))
        except OSError as error:
            call.has_failed = True
            said("find", f"‘{path}’: {reason_of(error)}")
            names = []
        for inner in names:
            _walk(f"{path.rstrip('/')}/{inner}" if path != "/" else f"/{inner}", inner, depth + 1, call, test, follows)
            if call.is_over:
                return
    if depth >= call.least and call.is_depth_first and not call.is_over:
        test(found)


def find(words: Sequence[str]) -> int:
    """Runs `find`. Folders are walked through in the order of the names within them."""
    rest = list(words)
    follows = False
    while rest and rest[0] in ("-H", "-L", "-P"):
        follows = rest.pop(0) == "-L"
    if follows:
        raise Refused("-L is not understood here")
    folders = []
    while rest and not rest[0].startswith("-") and rest[0] not in ("(", "!"):
        folders.append(rest.pop(0))
    call = _Call()
    test = _Expression(rest, call).whole()
    if not call.has_action:
        inner = test

        def test(found: _Found) -> bool:
            return inner(found) and _print(found, "\n")

    for folder in folders or ["."]:
        if not os.path.lexists(folder):
            call.has_failed = True
            said("find", f"‘{folder}’: {os.strerror(errno.ENOENT)}")
            continue
        _walk(folder, os.path.basename(folder.rstrip("/")) or folder, 0, call, test, follows)
        if call.is_over:
            break
    return 1 if call.has_failed else 0
