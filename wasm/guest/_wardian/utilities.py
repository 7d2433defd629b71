"""Small programs of a machine that are made of Python here: `echo`, `cat`, `ls`, `cp` and their like.

They read and write the standard descriptors and return an exit code. An option that is not known is an error
that says so, since a result without it would be another one.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Callable, Sequence
from typing import Any

from _wardian.descriptors import put, rest_of

Utility = Callable[[Sequence[str]], int]


class _Refused(Exception):
    """An option that is not known."""


def _said(name: str, text: str) -> int:
    put(2, f"{name}: {text}\n".encode("utf-8", "surrogateescape"))
    return 1


def _wrote(text: str) -> int:
    put(1, text.encode("utf-8", "surrogateescape"))
    return 0


def _options(words: Sequence[str], known: str, values: str = "") -> tuple[dict[str, str], list[str]]:
    """Divides words into options of one letter and the rest. Those in `values` have a value."""
    found: dict[str, str] = {}
    rest: list[str] = []
    pending = list(words)
    while pending:
        word = pending.pop(0)
        if word == "--":
            rest += pending
            break
        if len(word) < 2 or word[0] != "-":
            rest.append(word)
            continue
        if word.startswith("--"):
            raise _Refused(f"unrecognized option '{word}'")
        letters = word[1:]
        while letters:
            letter, letters = letters[0], letters[1:]
            if letter in values:
                found[letter] = letters or (pending.pop(0) if pending else "")
                letters = ""
            elif letter in known:
                found[letter] = ""
            else:
                raise _Refused(f"invalid option -- '{letter}'")
    return found, rest


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


_ESCAPES = {
    "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\",
}  # fmt: skip


def _unescaped(text: str) -> tuple[str, bool]:
    """The text with its escapes replaced, and whether one of them ends the output."""
    parts = []
    at = 0
    while at < len(text):
        letter = text[at]
        at += 1
        if letter != "\\" or at == len(text):
            parts.append(letter)
            continue
        letter = text[at]
        at += 1
        if letter == "c":
            return "".join(parts), True
        if letter in _ESCAPES:
            parts.append(_ESCAPES[letter])
        elif letter in "01234567":
            digits = letter
            while at < len(text) and text[at] in "01234567" and len(digits) < 4:
                digits, at = digits + text[at], at + 1
            parts.append(chr(int(digits, 8) & 0xFF))
        else:
            parts.append(f"\\{letter}")
    return "".join(parts), False


def _echo(words: Sequence[str]) -> int:
    rest = list(words)
    end, escapes = "\n", False
    while rest and len(rest[0]) > 1 and rest[0][0] == "-" and set(rest[0][1:]) <= set("neE"):
        letters = rest.pop(0)[1:]
        end = "" if "n" in letters else end
        escapes = (escapes or "e" in letters) and "E" not in letters
    text = " ".join(rest)
    if escapes:
        text, is_over = _unescaped(text)
        end = "" if is_over else end
    return _wrote(text + end)


def _printf(words: Sequence[str]) -> int:
    if not words:
        return _said("printf", "missing operand") + 1
    form, rest = _unescaped(words[0])[0], list(words[1:])
    while True:
        before = len(rest)
        parts, at = [], 0
        while at < len(form):
            if form[at] != "%":
                parts.append(form[at])
                at += 1
                continue
            end = at + 1
            while end < len(form) and form[end] in "-+ #0123456789.":
                end += 1
            kind = form[end : end + 1]
            if kind == "%":
                parts.append("%")
            elif kind and kind in "sdiouxXfeEgGcb":
                value: Any = rest.pop(0) if rest else ""
                if kind in "diouxX":
                    value = int(value or "0", 0)
                elif kind in "feEgG":
                    value = float(value or "0")
                elif kind == "b":
                    value, kind = _unescaped(value)[0], "s"
                parts.append(f"{form[at:end]}{kind}" % (value,))
            else:
                return _said("printf", f"{form[at : end + 1]}: invalid conversion specification")
            at = end + 1
        _wrote("".join(parts))
        if not rest or len(rest) == before:
            return 0


def _contents(name: str, files: Sequence[str]) -> tuple[list[tuple[str, bytes]], int]:
    found, code = [], 0
    for path in files or ["-"]:
        try:
            if path == "-":
                found.append(("", rest_of(0)))
            else:
                with open(path, "rb") as file:
                    found.append((path, file.read()))
        except OSError as error:
            code = _said(name, f"{path}: {_reason(error)}")
    return found, code


def _cat(words: Sequence[str]) -> int:
    options, files = _options(words, "nu")
    found, code = _contents("cat", files)
    for _, content in found:
        if "n" in options:
            for number, line in enumerate(content.splitlines(keepends=True), 1):
                put(1, f"{number:6}\t".encode() + line)
        else:
            put(1, content)
    return code


def _tee(words: Sequence[str]) -> int:
    options, files = _options(words, "a")
    content, code = rest_of(0), 0
    put(1, content)
    for path in files:
        try:
            with open(path, "ab" if "a" in options else "wb") as file:
                file.write(content)
        except OSError as error:
            code = _said("tee", f"{path}: {_reason(error)}")
    return code


def _part(name: str, words: Sequence[str], cut: Callable[[list[bytes], int], list[bytes]]) -> int:
    words = [f"-n{word[1:]}" if word[:1] == "-" and word[1:].isdigit() else word for word in words]
    options, files = _options(words, "q", "n")
    try:
        count = int(options.get("n", "10"))
    except ValueError:
        return _said(name, f"invalid number of lines: '{options['n']}'")
    found, code = _contents(name, files)
    for number, (path, content) in enumerate(found):
        if len(found) > 1 and "q" not in options:
            _wrote(("\n" if number else "") + f"==> {path or 'standard input'} <==\n")
        put(1, b"".join(cut(content.splitlines(keepends=True), count)))
    return code


def _head(words: Sequence[str]) -> int:
    return _part("head", words, lambda lines, count: lines[:count])


def _tail(words: Sequence[str]) -> int:
    return _part("tail", words, lambda lines, count: lines[-count:] if count else [])


def _wc(words: Sequence[str]) -> int:
    options, files = _options(words, "lwcm")
    found, code = _contents("wc", files)
    wanted = [letter for letter in "lwmc" if letter in options] or ["l", "w", "c"]
    rows = []
    for path, content in found:
        counts = {
            "l": content.count(b"\n"),
            "w": len(content.split()),
            "m": len(content.decode("utf-8", "replace")),
            "c": len(content),
        }
        rows.append(([counts[letter] for letter in wanted], path))
    if len(rows) > 1:
        rows.append(([sum(column) for column in zip(*(row for row, _ in rows), strict=True)], "total"))
    is_narrow = len(rows) == 1 and len(wanted) == 1
    width = max((len(str(number)) for row, _ in rows for number in row), default=1)
    width = width if files else 7
    for row, path in rows:
        numbers = " ".join(str(number) if is_narrow else f"{number:{width}}" for number in row)
        _wrote(f"{numbers} {path}".rstrip() + "\n")
    return code


def _pwd(words: Sequence[str]) -> int:
    return _wrote(f"{os.getcwd()}\n")


def _mkdir(words: Sequence[str]) -> int:
    options, folders = _options(words, "pv", "m")
    code = 0
    for folder in folders:
        try:
            if "p" in options:
                os.makedirs(folder, exist_ok=True)
            else:
                os.mkdir(folder)
        except OSError as error:
            code = _said("mkdir", f"cannot create directory '{folder}': {_reason(error)}")
    return code


def _rmdir(words: Sequence[str]) -> int:
    _, folders = _options(words, "v")
    code = 0
    for folder in folders:
        try:
            os.rmdir(folder)
        except OSError as error:
            code = _said("rmdir", f"failed to remove '{folder}': {_reason(error)}")
    return code


def _rm(words: Sequence[str]) -> int:
    options, paths = _options(words, "rRfv")
    is_deep, code = bool({"r", "R"} & options.keys()), 0
    for path in paths:
        try:
            if is_deep and os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            elif os.path.isdir(path) and not os.path.islink(path):
                code = _said("rm", f"cannot remove '{path}': Is a directory")
            else:
                os.unlink(path)
        except FileNotFoundError as error:
            if "f" not in options:
                code = _said("rm", f"cannot remove '{path}': {_reason(error)}")
        except OSError as error:
            code = _said("rm", f"cannot remove '{path}': {_reason(error)}")
    return code


def _place(name: str, words: Sequence[str], known: str, move: Callable[..., object]) -> int:
    options, paths = _options(words, known)
    if len(paths) < 2:
        return _said(name, f"missing destination file operand after '{paths[0]}'" if paths else "missing file operand")
    *sources, target = paths
    if len(sources) > 1 and not os.path.isdir(target):
        return _said(name, f"target '{target}' is not a directory")
    code = 0
    for source in sources:
        into = target
        if os.path.isdir(target):
            into = os.path.join(target, os.path.basename(source.rstrip("/")))
        try:
            problem = move(source, into, options)
        except OSError as error:
            code = _said(name, f"cannot stat '{source}': {_reason(error)}")
        else:
            code = _said(name, problem) if isinstance(problem, str) else code
    return code


def _copy_one(source: str, into: str, options: dict[str, str]) -> str | None:
    if os.path.isdir(source):
        if not {"r", "R", "a"} & options.keys():
            return f"-r not specified; omitting directory '{source}'"
        shutil.copytree(source, into, dirs_exist_ok=True, symlinks=True)
    elif "n" not in options or not os.path.exists(into):
        (shutil.copy2 if {"p", "a"} & options.keys() else shutil.copy)(source, into)
    return None


def _move_one(source: str, into: str, options: dict[str, str]) -> None:
    if "n" not in options or not os.path.exists(into):
        os.replace(source, into) if os.path.lexists(source) else os.stat(source)


def _cp(words: Sequence[str]) -> int:
    return _place("cp", words, "rRapnfv", _copy_one)


def _mv(words: Sequence[str]) -> int:
    return _place("mv", words, "nfv", _move_one)


def _touch(words: Sequence[str]) -> int:
    options, files = _options(words, "c")
    code = 0
    for path in files:
        try:
            if os.path.exists(path):
                os.utime(path)
            elif "c" not in options:
                open(path, "ab").close()
        except OSError as error:
            code = _said("touch", f"cannot touch '{path}': {_reason(error)}")
    return code


def _row(name: str, found: os.stat_result) -> str:
    when = time.strftime("%b %e %H:%M", time.gmtime(found.st_mtime))
    return f"{stat.filemode(found.st_mode)} {found.st_nlink} root root {found.st_size:>8} {when} {name}\n"


def _ls(words: Sequence[str]) -> int:
    options, paths = _options(words, "1aAldhrtF")
    code, files, folders = 0, [], []
    for path in paths or ["."]:
        if not os.path.lexists(path):
            code = _said("ls", f"cannot access '{path}': No such file or directory") + 1
        elif os.path.isdir(path) and "d" not in options:
            folders.append(path)
        else:
            files.append(path)

    def show(folder: str, names: list[str]) -> None:
        found = {name: os.lstat(os.path.join(folder, name)) for name in names}
        names.sort(key=(lambda name: -found[name].st_mtime_ns) if "t" in options else None)
        for name in reversed(names) if "r" in options else names:
            is_folder = stat.S_ISDIR(found[name].st_mode)
            shown = f"{name}/" if "F" in options and is_folder else name
            _wrote(_row(shown, found[name]) if "l" in options else f"{shown}\n")

    show("", files)
    for number, folder in enumerate(folders):
        if len(folders) + len(files) > 1:
            _wrote(("\n" if number or files else "") + f"{folder}:\n")
        names = os.listdir(folder)
        if not {"a", "A"} & options.keys():
            names = [name for name in names if not name.startswith(".")]
        elif "a" in options:
            names += [".", ".."]
        if "l" in options:
            _wrote(f"total {sum(os.lstat(os.path.join(folder, name)).st_size + 1023 >> 10 for name in names)}\n")
        show(folder, names)
    return code


def _sleep(words: Sequence[str]) -> int:
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    try:
        seconds = sum(
            float(word[:-1]) * units[word[-1]] if word[-1:] in units else float(word) for word in words
        )
    except ValueError:
        return _said("sleep", f"invalid time interval '{words[0]}'")
    time.sleep(seconds)
    return 0


def _basename(words: Sequence[str]) -> int:
    if not words:
        return _said("basename", "missing operand")
    name = os.path.basename(words[0].rstrip("/"))
    if len(words) > 1 and name != words[1]:
        name = name.removesuffix(words[1])
    return _wrote(f"{name}\n")


def _dirname(words: Sequence[str]) -> int:
    return _wrote("".join(f"{os.path.dirname(word.rstrip('/')) or '.'}\n" for word in words))


def _realpath(words: Sequence[str]) -> int:
    return _wrote("".join(f"{os.path.realpath(word)}\n" for word in words))


def _date(words: Sequence[str]) -> int:
    _, rest = _options(words, "u")
    form = rest[0][1:] if rest and rest[0].startswith("+") else "%a %b %e %H:%M:%S UTC %Y"
    return _wrote(f"{time.strftime(form, time.gmtime())}\n")


_FILE_TESTS: dict[str, Callable[[str], bool]] = {
    "-e": os.path.exists, "-f": os.path.isfile, "-d": os.path.isdir, "-L": os.path.islink,
    "-h": os.path.islink, "-r": os.path.exists, "-w": os.path.exists,
    "-x": lambda path: os.access(path, os.X_OK),
    "-s": lambda path: os.path.exists(path) and os.stat(path).st_size > 0,
    "-n": lambda text: text != "", "-z": lambda text: text == "",
    "-t": lambda number: False,
}  # fmt: skip
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "-eq": lambda a, b: a == b, "-ne": lambda a, b: a != b, "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b, "-gt": lambda a, b: a > b, "-ge": lambda a, b: a >= b,
}  # fmt: skip


def _is_true(words: list[str]) -> bool:
    for joint, combine in (("-o", any), ("-a", all)):
        if joint in words[1:-1]:
            at = words.index(joint, 1)
            return combine([_is_true(words[:at]), _is_true(words[at + 1 :])])
    if words[:1] == ["!"] and len(words) > 1:
        return not _is_true(words[1:])
    if len(words) <= 1:
        return bool(words and words[0])
    if len(words) == 2 and words[0] in _FILE_TESTS:
        return _FILE_TESTS[words[0]](words[1])
    if len(words) == 3 and words[1] in ("=", "==", "!="):
        return (words[0] == words[2]) is (words[1] != "!=")
    if len(words) == 3 and words[1] in _COMPARISONS:
        return _COMPARISONS[words[1]](int(words[0]), int(words[2]))
    raise _Refused(f"{' '.join(words)}: unexpected operator")


def _test(words: Sequence[str]) -> int:
    try:
        return 0 if _is_true(list(words)) else 1
    except (ValueError, _Refused) as error:
        _said("test", str(error))
        return 2


def _bracket(words: Sequence[str]) -> int:
    if not words or words[-1] != "]":
        _said("[", "missing ]")
        return 2
    return _test(words[:-1])


_UTILITIES: dict[str, Utility] = {
    "[": _bracket, "basename": _basename, "cat": _cat, "cp": _cp, "date": _date, "dirname": _dirname,
    "echo": _echo, "false": lambda words: 1, "head": _head, "ls": _ls, "mkdir": _mkdir, "mv": _mv,
    "printf": _printf, "pwd": _pwd, "realpath": _realpath, "rm": _rm, "rmdir": _rmdir, "sleep": _sleep,
    "tail": _tail, "tee": _tee, "test": _test, "touch": _touch, "true": lambda words: 0, "wc": _wc,
}  # fmt: skip

def refuse(name: str, reason: str) -> int:
    """Says why a program does not run, and returns its exit code."""
    return _said(name, reason) + 1


def write(text: str) -> int:
    """Writes a text to the standard output."""
    return _wrote(text)


def say_version(name: str) -> int:
    """Says what the shell is."""
    return _wrote(f"{name}: a small shell of Wardian for simple command lines\n")


FOLDERS = ("", "/bin", "/usr/bin", "/usr/local/bin")


def find(program: str) -> Utility | None:
    """Returns the program of this name or path."""
    folder, _, name = program.rpartition("/")
    utility = _UTILITIES.get(name) if folder in FOLDERS else None
    if utility is None:
        return None

    def call(words: Sequence[str]) -> int:
        try:
            return utility(words)
        except (_Refused, ValueError) as refused:
            _said(name, f"{refused}; use Python instead")
            return 2
        except OSError as error:
            return _said(name, _reason(error))

    return call
