"""Small programs of a machine that are made of Python here: `echo`, `cat`, `ls`, `cp` and their like.

They read and write the standard descriptors and return an exit code. An option that is not known is an error
that says so, since a result without it would be another one.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Sequence
from typing import Any

from _wardian import filters, finding, grep
from _wardian.descriptors import put, rest_of
from _wardian.program_parts import Refused, contents_of, lines_of, options_of, reason_of, said, wrote

Utility = Callable[[Sequence[str]], int]


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
            parts.append(bytes([int(digits, 8) & 0xFF]).decode("utf-8", "surrogateescape"))
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
    return wrote(text + end)


_WIDTH_MAX = 1 << 16
_DIRECTIVE = re.compile(r"%([-+ #0]*)(\d*)(?:\.(\d*))?(.?)", re.S)


def _printf(words: Sequence[str]) -> int:
    words = words[1:] if words[:1] == ["--"] else words
    if not words:
        return said("printf", "missing operand") + 1
    form, is_over = _unescaped(words[0])
    rest = list(words[1:])
    code = 0
    while True:
        before = len(rest)
        parts, at = [], 0
        while at < len(form):
            match = _DIRECTIVE.match(form, at)
            if match is None:
                parts.append(form[at])
                at += 1
                continue
            at = match.end()
            if match[0] == "%%":
                parts.append("%")
                continue
            if not match[4] or match[4] not in "sdiouxXfeEgGcb":
                return said("printf", f"{match[0]}: invalid conversion specification")
            if any(len(digits or "") > 5 or int(digits or "0") > _WIDTH_MAX for digits in match.group(2, 3)):
                raise Refused(f"{match[0]}: the width is more than {_WIDTH_MAX}")
            given = rest.pop(0) if rest else ""
            shown, problem = _formatted(match[0], match[4], given)
            parts.append(shown)
            if problem:
                code = said("printf", f"{given}: expected numeric value")
        wrote("".join(parts))
        if is_over or not rest or len(rest) == before:
            return code


def _formatted(directive: str, kind: str, given: str) -> tuple[str, bool]:
    """The text of a value, and whether that is no number though it has to be one."""
    value: Any = given
    problem = False
    if kind in "diouxXfeEgG":
        try:
            value = _number(given) if kind in "diouxX" else float(given or "0")
        except ValueError:
            value, problem = 0, True
    elif kind == "b":
        value = _unescaped(given)[0]
    elif kind == "c":
        value = given[:1]
    return f"{directive[:-1]}{'s' if kind in 'bc' else kind}" % (value,), problem


def _number(text: str) -> int:
    """A number as in C: decimal, hexadecimal with `0x`, octal with `0`, or the code of a character."""
    if text[:1] in ("'", '"') and len(text) > 1:
        return ord(text[1])
    is_octal = re.fullmatch(r"[-+]?0[0-7]+", text)
    return int(text, 8) if is_octal else int(text or "0", 0)


def _cat(words: Sequence[str]) -> int:
    options, files = options_of(words, "nu")
    found, code = contents_of("cat", files)
    for _, content in found:
        if "n" in options:
            for number, line in enumerate(lines_of(content), 1):
                put(1, f"{number:6}\t".encode() + line)
        else:
            put(1, content)
    return code


def _tee(words: Sequence[str]) -> int:
    options, files = options_of(words, "a")
    content, code = rest_of(0), 0
    put(1, content)
    for path in files:
        try:
            with open(path, "ab" if "a" in options else "wb") as file:
                file.write(content)
        except OSError as error:
            code = said("tee", f"{path}: {reason_of(error)}")
    return code


_COUNT = re.compile(r"([-+]?)(\d{1,18})")


def _part(name: str, words: Sequence[str], cut: Callable[[list[bytes], str, int], list[bytes]]) -> int:
    is_short = words and words[0][:1] == "-" and words[0][1:].isdigit()
    long = {"lines": "n", "bytes": "c", "quiet": "q", "silent": "q", "verbose": "v"}
    options, files = options_of([f"-n{words[0][1:]}", *words[1:]] if is_short else words, "qv", "nc", long)
    is_bytes = "c" in options
    given = options["c" if is_bytes else "n"] if options.keys() & {"c", "n"} else "10"
    count = _COUNT.fullmatch(given)
    if count is None:
        return said(name, f"invalid number of {'bytes' if is_bytes else 'lines'}: '{given}'")
    found, code = contents_of(name, files)
    for number, (path, content) in enumerate(found):
        if (len(found) > 1 or "v" in options) and "q" not in options:
            wrote(("\n" if number else "") + f"==> {path or 'standard input'} <==\n")
        parts = [content[at : at + 1] for at in range(len(content))] if is_bytes else lines_of(content)
        put(1, b"".join(cut(parts, count[1], int(count[2]))))
    return code


def _head(words: Sequence[str]) -> int:
    return _part("head", words, _first_lines)


def _first_lines(lines: list[bytes], sign: str, count: int) -> list[bytes]:
    return lines[: max(len(lines) - count, 0)] if sign == "-" else lines[:count]


def _tail(words: Sequence[str]) -> int:
    return _part("tail", words, _last_lines)


def _last_lines(lines: list[bytes], sign: str, count: int) -> list[bytes]:
    return lines[max(count - 1, 0) :] if sign == "+" else lines[max(len(lines) - count, 0) :]


def _wc(words: Sequence[str]) -> int:
    options, files = options_of(words, "lwcm", "", {"lines": "l", "words": "w", "bytes": "c", "chars": "m"})
    found, code = contents_of("wc", files)
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
        wrote(f"{numbers} {path}".rstrip() + "\n")
    return code


def _pwd(words: Sequence[str]) -> int:
    return wrote(f"{os.getcwd()}\n")


def _mkdir(words: Sequence[str]) -> int:
    options, folders = options_of(words, "pv", "m")
    mode = options.get("m", "777")
    if not re.fullmatch(r"[0-7]{1,4}", mode):
        raise Refused(f"the mode '{mode}' is not octal")
    code = 0
    for folder in folders:
        try:
            made = _missing_folders(folder) if "p" in options else [folder]
            for one in made:
                os.mkdir(one)
                if "v" in options:
                    wrote(f"mkdir: created directory '{one}'\n")
            if "m" in options and made:
                os.chmod(folder, int(mode, 8))
            if not os.path.isdir(folder):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        except OSError as error:
            code = said("mkdir", f"cannot create directory '{folder}': {reason_of(error)}")
    return code


def _missing_folders(folder: str) -> list[str]:
    """The folder and those above it that do not exist, the highest first."""
    missing: list[str] = []
    while folder and not os.path.lexists(folder):
        missing.insert(0, folder)
        folder = os.path.dirname(folder.rstrip("/"))
    return missing


def _rmdir(words: Sequence[str]) -> int:
    options, folders = options_of(words, "v")
    code = 0
    for folder in folders:
        if "v" in options:
            wrote(f"rmdir: removing directory, '{folder}'\n")
        try:
            os.rmdir(folder)
        except OSError as error:
            code = said("rmdir", f"failed to remove '{folder}': {reason_of(error)}")
    return code


def _rm(words: Sequence[str]) -> int:
    options, paths = options_of(words, "rRfv")
    is_deep, code = bool({"r", "R"} & options.keys()), 0
    if not paths and "f" not in options:
        return said("rm", "missing operand")
    for path in paths:
        try:
            if is_deep and os.path.basename(path.rstrip("/")) in (".", ".."):
                code = said("rm", f"refusing to remove '.' or '..' directory: skipping '{path}'")
            elif is_deep and _holds_everything(path):
                code = said("rm", f"it is dangerous to operate recursively on '{path}'")
            elif os.path.isdir(path) and not os.path.islink(path):
                if not is_deep:
                    code = said("rm", f"cannot remove '{path}': Is a directory")
                    continue
                _remove_all(path, "v" in options)
            else:
                os.unlink(path)
                if "v" in options:
                    wrote(f"removed '{path}'\n")
        except FileNotFoundError as error:
            if "f" not in options:
                code = said("rm", f"cannot remove '{path}': {reason_of(error)}")
        except OSError as error:
            code = said("rm", f"cannot remove '{path}': {reason_of(error)}")
    return code


def _holds_everything(path: str) -> bool:
    """True for the root of the files, and for a folder that the present one is in."""
    if os.path.islink(path) or not os.path.isdir(path):
        return False
    here, whole = os.path.realpath(os.getcwd()), os.path.realpath(path)
    return whole == "/" or f"{here}/".startswith(f"{whole}/")


def _remove_all(folder: str, says: bool) -> None:
    if not says:
        shutil.rmtree(folder)
        return
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if os.path.isdir(path) and not os.path.islink(path):
            _remove_all(path, says)
        else:
            os.unlink(path)
            wrote(f"removed '{path}'\n")
    os.rmdir(folder)
    wrote(f"removed directory '{folder}'\n")


def _place(name: str, words: Sequence[str], known: str, move: Callable[..., object]) -> int:
    options, paths = options_of(words, known)
    if len(paths) < 2:
        return said(name, f"missing destination file operand after '{paths[0]}'" if paths else "missing file operand")
    *sources, target = paths
    if len(sources) > 1 and not os.path.isdir(target):
        return said(name, f"target '{target}' is not a directory")
    code = 0
    for source in sources:
        into = target
        if os.path.isdir(target):
            into = os.path.join(target, os.path.basename(source.rstrip("/")))
        try:
            problem = move(source, into, options)
        except OSError as error:
            code = said(name, f"cannot stat '{source}': {reason_of(error)}")
        else:
            code = said(name, problem) if isinstance(problem, str) else code
    return code


def _copy_one(source: str, into: str, options: dict[str, str]) -> str | None:
    says = "v" in options
    if os.path.isdir(source):
        if not {"r", "R", "a"} & options.keys():
            return f"-r not specified; omitting directory '{source}'"
        if f"{os.path.realpath(into)}/".startswith(f"{os.path.realpath(source)}/"):
            return f"cannot copy a directory, '{source}', into itself, '{into}'"
        if says:
            raise Refused("-v with a directory is not understood here")
        shutil.copytree(source, into, dirs_exist_ok=True, symlinks=True)
    elif "n" not in options or not os.path.exists(into):
        if os.path.exists(into) and os.path.samefile(source, into):
            return f"'{source}' and '{into}' are the same file"
        (shutil.copy2 if {"p", "a"} & options.keys() else shutil.copy)(source, into)
        if says:
            wrote(f"'{source}' -> '{into}'\n")
    return None


def _move_one(source: str, into: str, options: dict[str, str]) -> None:
    if "n" in options and os.path.exists(into):
        return
    if not os.path.lexists(source):
        os.stat(source)
    os.replace(source, into)
    if "v" in options:
        wrote(f"renamed '{source}' -> '{into}'\n")


def _cp(words: Sequence[str]) -> int:
    return _place("cp", words, "rRapnfv", _copy_one)


def _mv(words: Sequence[str]) -> int:
    return _place("mv", words, "nfv", _move_one)


def _touch(words: Sequence[str]) -> int:
    options, files = options_of(words, "c")
    code = 0
    for path in files:
        try:
            if os.path.exists(path):
                os.utime(path)
            elif "c" not in options:
                open(path, "ab").close()
        except OSError as error:
            code = said("touch", f"cannot touch '{path}': {reason_of(error)}")
    return code


def _row(name: str, found: os.stat_result) -> str:
    when = time.strftime("%b %e %H:%M", time.gmtime(found.st_mtime))
    return f"{stat.filemode(found.st_mode)} {found.st_nlink} root root {found.st_size:>8} {when} {name}\n"


def _ls(words: Sequence[str]) -> int:
    options, paths = options_of(words, "1aAldhrtF")
    code, files, folders = 0, [], []
    for path in paths or ["."]:
        if not os.path.lexists(path):
            code = said("ls", f"cannot access '{path}': No such file or directory") + 1
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
            wrote(_row(shown, found[name]) if "l" in options else f"{shown}\n")

    show("", files)
    for number, folder in enumerate(folders):
        if len(folders) + len(files) > 1:
            wrote(("\n" if number or files else "") + f"{folder}:\n")
        names = os.listdir(folder)
        if not {"a", "A"} & options.keys():
            names = [name for name in names if not name.startswith(".")]
        elif "a" in options:
            names += [".", ".."]
        if "l" in options:
            wrote(f"total {sum(os.lstat(os.path.join(folder, name)).st_size + 1023 >> 10 for name in names)}\n")
        show(folder, names)
    return code


def _sleep(words: Sequence[str]) -> int:
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    try:
        seconds = sum(
            float(word[:-1]) * units[word[-1]] if word[-1:] in units else float(word) for word in words
        )
    except ValueError:
        return said("sleep", f"invalid time interval '{words[0]}'")
    time.sleep(seconds)
    return 0


def _basename(words: Sequence[str]) -> int:
    options, names = options_of(words, "a", "s")
    suffix = options.get("s", "")
    if not names:
        return said("basename", "missing operand")
    if not options:
        if len(names) > 2:
            return said("basename", f"extra operand '{names[2]}'")
        suffix = names.pop() if len(names) == 2 else ""
    shown = [os.path.basename(name.rstrip("/")) or name[:1] for name in names]
    return wrote("".join(f"{name.removesuffix(suffix) or name}\n" for name in shown))


def _dirname(words: Sequence[str]) -> int:
    _, names = options_of(words, "")
    if not names:
        return said("dirname", "missing operand")
    return wrote("".join(f"{_folder_of(name)}\n" for name in names))


def _folder_of(name: str) -> str:
    return os.path.dirname(name.rstrip("/")) or ("/" if name.startswith("/") else ".")


def _realpath(words: Sequence[str]) -> int:
    options, names = options_of(words, "emq")
    if not names:
        return said("realpath", "missing operand")
    code = 0
    for name in names:
        path = os.path.realpath(name)
        needed = path if "e" in options else os.path.dirname(path)
        if "m" in options or os.path.lexists(needed):
            wrote(f"{path}\n")
        else:
            missing = OSError(errno.ENOENT, os.strerror(errno.ENOENT))
            code = 1 if "q" in options else said("realpath", f"{name}: {reason_of(missing)}")
    return code


def _date(words: Sequence[str]) -> int:
    _, rest = options_of(words, "u")
    if len(rest) > 1 or rest and not rest[0].startswith("+"):
        raise Refused("only a format, such as +%F, is understood here")
    form = rest[0][1:] if rest else "%a %b %e %H:%M:%S UTC %Y"
    now = time.time_ns()
    parts = []
    for piece in re.findall(r"%.?|[^%]+", form, re.S):
        if piece == "%N":
            parts.append(f"{now % 10**9:09}")
        elif piece[0] != "%" or piece[1:] and piece[1] in "aAbBcCdDeFgGhHIjklmMnprRsStTuUVwWxXyYzZ%":
            parts.append(_moment(piece, now // 10**9))
        else:
            raise Refused(f"the format '{piece}' is not understood here")
    return wrote("".join(parts) + "\n")


def _moment(piece: str, seconds: int) -> str:
    zone = {"%s": str(seconds), "%z": "+0000", "%Z": "UTC"}
    return zone.get(piece) or (time.strftime(piece, time.gmtime(seconds)) if piece[0] == "%" else piece)


def _uname(words: Sequence[str]) -> int:
    long = {"all": "a", "kernel-name": "s", "nodename": "n", "kernel-release": "r", "kernel-version": "v",
            "machine": "m", "operating-system": "o"}  # fmt: skip
    options, rest = options_of(words, "asnrvmo", "", long)
    if rest:
        raise Refused(f"extra operand '{rest[0]}'")
    found = os.uname()
    parts = {
        "s": found.sysname, "n": found.nodename, "r": found.release, "v": found.version, "m": found.machine,
        "o": "GNU/Linux" if found.sysname == "Linux" else found.sysname,
    }  # fmt: skip
    chosen = parts if "a" in options else options or {"s": ""}
    return wrote(" ".join(parts[letter] for letter in parts if letter in chosen) + "\n")


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
    raise Refused(f"{' '.join(words)}: unexpected operator")


def _test(words: Sequence[str]) -> int:
    try:
        return 0 if _is_true(list(words)) else 1
    except (ValueError, Refused) as error:
        said("test", str(error))
        return 2


def _bracket(words: Sequence[str]) -> int:
    if not words or words[-1] != "]":
        said("[", "missing ]")
        return 2
    return _test(words[:-1])


_UTILITIES: dict[str, Utility] = {
    "[": _bracket, "basename": _basename, "cat": _cat, "cp": _cp, "date": _date, "dirname": _dirname,
    "echo": _echo, "false": lambda words: 1, "head": _head, "ls": _ls, "mkdir": _mkdir, "mv": _mv,
    "printf": _printf, "pwd": _pwd, "realpath": _realpath, "rm": _rm, "rmdir": _rmdir, "sleep": _sleep,
    "tail": _tail, "tee": _tee, "test": _test, "touch": _touch, "true": lambda words: 0, "uname": _uname, "wc": _wc,
    "egrep": lambda words: grep.main(words, "E"), "fgrep": lambda words: grep.main(words, "F"),
    "find": finding.find, "grep": grep.main, **filters.PROGRAMS,
}  # fmt: skip


def refuse(name: str, reason: str) -> int:
    """Says why a program does not run, and returns its exit code."""
    return said(name, reason) + 1


def write(text: str) -> int:
    """Writes a text to the standard output."""
    return wrote(text)


def say_version(name: str) -> int:
    """Says what the shell is."""
    return wrote(f"{name}: a small shell of Wardian for simple command lines\n")


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
        except (Refused, ValueError) as refused:
            said(name, f"{refused}; use Python instead")
            return 2
        except OSError as error:
            return said(name, reason_of(error))
        except Exception as error:
            said(name, f"{type(error).__name__}: {error}; use Python instead")
            return 2

    return call
