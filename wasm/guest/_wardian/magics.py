"""The commands of notebooks that begin with `%`, `%%` and `!`.

Only a source that is no Python is looked at, and there only the beginnings of statements: a tokenizer
says where these are, so a `%` within a text or behind an open bracket is none. What is found becomes a
call of `get_ipython()` on the same line, as in notebooks that are exported to Python. Those that make
sense here work. The others say what to write in their place, once the cell reaches them.
"""

from __future__ import annotations

import ast
import linecache
import math
import re
import sys
import time
import timeit
import tokenize
from collections.abc import Coroutine
from types import FrameType
from typing import Any, NamedTuple

from _wardian import advice, programs

_getframe = sys._getframe
_compile, _eval, _exec = compile, eval, exec
_wall, _processor = time.perf_counter, time.process_time
_AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT

_LINE = re.compile(r"(\s*)(!!?|%)(?!\s*$)(.*)", re.S).fullmatch
_ASSIGNED = re.compile(r"(\s*[A-Za-z_][\w.,\s\[\]'\"]*=\s*)(!|%)(?!=)(.*)", re.S).fullmatch
_HELP = re.compile(r"\s*(?:\?{1,2}\s*([\w.*]+)|([A-Za-z_][\w.\[\]'\"]*)\?{1,2})\s*").fullmatch
_CELL = re.compile(r"%%\s*([\w.]+)\s*(.*)").fullmatch
_HAS_AWAIT = re.compile(r"\bawait\b").search


class UsageError(Exception):
    """A magic that is not there, or that was used in a way that it does not know."""


UsageError.__module__ = "IPython.core.error"


class Translated(NamedTuple):
    """A source with calls in the place of magics, on the same lines."""

    source: str
    is_timed: bool
    """True if it begins with `%%time`."""


def translated(source: str) -> Translated | None:
    """Replaces the magics of a source that is no Python; `None` if it has none."""
    lines = source.split("\n")
    first = next((at for at, line in enumerate(lines) if line.strip()), 0)
    cell = _CELL(lines[first].strip())
    if cell is None:
        python = _Translator(lines).run()
        return None if python is None else Translated(python, False)
    body = "\n".join(lines[first + 1 :])
    if cell[1] == "time":
        head = "\n" * (first + 1)
        if cell[2]:
            raise UsageError("`%%time` stands alone on its line: put the code below it")
        inner = translated(body) if _is_no_python(body) else None
        return Translated(head + (inner.source if inner else body), True)
    call = _call("run_cell_magic", cell[1], cell[2], body)
    return Translated("\n" * first + call, False)


def _is_no_python(source: str) -> bool:
    try:
        _compile(source, "<cell>", "exec", ast.PyCF_ONLY_AST | _AWAIT, True)
    except SyntaxError:
        return True
    return False


def _call(method: str, *texts: str) -> str:
    return f"get_ipython().{method}({', '.join(map(repr, texts))})"


class _Translator:
    """Gives a tokenizer line after line, and replaces those in which a statement begins as a magic."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.next = 0
        self.written: list[str] = []
        self.is_beginning = True
        self.has_found = False

    def run(self) -> str | None:
        """The source with calls in the place of magics; `None` if there are none."""
        depth = 0
        try:
            for token in tokenize.generate_tokens(self._read):
                if token.type == tokenize.OP:
                    depth += (token.string in "([{") - (token.string in ")]}")
                if token.type in (tokenize.NEWLINE, tokenize.NL):
                    self.is_beginning = token.type == tokenize.NEWLINE or depth <= 0
                elif token.type not in _BETWEEN:
                    self.is_beginning = False
        except (tokenize.TokenError, SyntaxError):
            pass  # Python itself says what is wrong behind here
        if not self.has_found:
            return None
        return "\n".join(self.written + self.lines[self.next :])

    def _read(self) -> str:
        if len(self.written) < self.next:  # the rest of a magic of several lines
            self.written.append("")
            return "\n"
        if self.next >= len(self.lines):
            return ""
        line = self.lines[self.next]
        self.next += 1
        if self.is_beginning:
            line = self._replaced(line)
        self.written.append(line)
        return line if self.next >= len(self.lines) else f"{line}\n"

    def _replaced(self, line: str) -> str:
        found = _LINE(line) or _ASSIGNED(line)
        if found is None:
            asked = _HELP(line)
            if asked is None:
                return line
            self.has_found = True
            indent = line[: len(line) - len(line.lstrip())]
            return f"{indent}{_call('help', asked[1] or asked[2])}"
        self.has_found = True
        before, sign, text = found.groups()
        while text.endswith("\\") and self.next < len(self.lines):
            text = f"{text[:-1]}\n{self.lines[self.next]}"
            self.next += 1
        if sign != "%":
            return before + _call("getoutput" if "=" in before else "system", text.strip())
        name, _, rest = text.strip().partition(" ")
        if name == "time" and _HAS_AWAIT(rest):
            return f"{before}await {_call('time_awaited', rest.strip())}"
        return before + _call("run_line_magic", name, rest.strip())


_BETWEEN = frozenset((
    tokenize.COMMENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER, tokenize.INDENT,
))  # fmt: skip
"""Tokens that may come before a statement."""


# What magics do.


class Timing:
    """The times of some code: begun when it is made."""

    def __init__(self) -> None:
        self.wall, self.processor = _wall(), _processor()

    def show(self) -> None:
        """Prints the times until now."""
        wall, processor = _wall() - self.wall, _processor() - self.processor
        print(f"CPU times: total: {shown_time(processor)}\nWall time: {shown_time(wall)}")


def shown_time(seconds: float) -> str:
    """A time with three digits and its unit."""
    if seconds >= 60:
        parts, rest = [], seconds
        for name, length in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
            count, rest = divmod(rest, length)
            if count:
                parts.append(f"{int(count)}{name}")
        return " ".join(parts)
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("μs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _code(frame: FrameType, text: str) -> tuple[Any, Any]:
    """The code of a statement on a line of a cell: what to execute, and what to evaluate then."""
    tree = _compile(text, frame.f_code.co_filename, "exec", ast.PyCF_ONLY_AST | _AWAIT, True)
    line = _line(frame)
    shift = len(line[: max(line.find(text), 0)].encode())
    for node in ast.walk(tree):  # tracebacks mark places in the line as it was written
        if isinstance(node, (ast.expr, ast.stmt)):
            for side in ("", "end_"):
                number = getattr(node, f"{side}lineno")
                if number == 1:
                    column = getattr(node, f"{side}col_offset")
                    setattr(node, f"{side}col_offset", column + shift)
                setattr(node, f"{side}lineno", number + frame.f_lineno - 1)
    value = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        value = ast.Expression(tree.body.pop().value)
        value = _compile(value, frame.f_code.co_filename, "eval", _AWAIT, True)
    return _compile(tree, frame.f_code.co_filename, "exec", _AWAIT, True), value


def _line(frame: FrameType) -> str:
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno)


def _time(frame: FrameType, text: str) -> Any:
    """Runs a statement, prints its times, and returns its value."""
    code, value = _code(frame, text)
    timing = Timing()
    _exec(code, frame.f_globals, frame.f_locals)
    result = None if value is None else _eval(value, frame.f_globals, frame.f_locals)
    timing.show()
    return result


def _timeit(frame: FrameType, line: str, cell: str | None = None) -> Any:
    """Runs a statement many times, and prints how long it takes on average."""
    options, code = _options(line, "nrpt", "oqc")
    setup, statement = (code, cell) if cell is not None else ("pass", code)
    if not statement.strip():
        raise UsageError("`%timeit` needs a statement, as in `%timeit sum(range(1000))`")
    names = {**frame.f_globals, **frame.f_locals}
    timer = timeit.Timer(statement, setup.strip() or "pass", _wall, globals=names)
    rounds = _number(options, "r", 7)
    digits = _number(options, "p", 3)
    loops = _number(options, "n", 0)
    if not loops:
        while timer.timeit(loops := loops * 10 or 1) < 0.2 and loops < 10**9:
            pass
    times = [spent / loops for spent in timer.repeat(rounds, loops)]
    found = TimeitResult(loops, times, digits)
    if "q" not in options:
        print(found)
    return found if "o" in options else None


class TimeitResult:
    """The times of one loop of each round."""

    def __init__(self, loops: int, all_runs: list[float], precision: int) -> None:
        self.loops, self.repeat, self.all_runs = loops, len(all_runs), all_runs
        self.best, self.worst = min(all_runs), max(all_runs)
        self.average = math.fsum(all_runs) / len(all_runs)
        variance = math.fsum((run - self.average) ** 2 for run in all_runs) / len(all_runs)
        self.stdev = math.sqrt(variance)

    def __str__(self) -> str:
        runs = "run" if self.repeat == 1 else "runs"
        loops = "loop" if self.loops == 1 else "loops"
        return (
            f"{shown_time(self.average)} ± {shown_time(self.stdev)} per loop "
            f"(mean ± std. dev. of {self.repeat} {runs}, {self.loops:,} {loops} each)"
        )

    def __repr__(self) -> str:
        return f"<TimeitResult : {self}>"


def _options(line: str, with_value: str, without: str) -> tuple[dict[str, str], str]:
    """Options at the beginning of a line, and the rest of it."""
    options: dict[str, str] = {}
    rest = line.strip()
    while found := re.match(rf"-(?:([{with_value}])\s*(\d+)|([{without}]))(?:\s+|$)", rest):
        options[found[1] or found[3]] = found[2] or ""
        rest = rest[found.end() :]
    if re.match(r"-[A-Za-z](\s|\d|$)", rest):
        raise UsageError(f"`%timeit` does not know the option `{rest[:2]}`")
    return options, rest


def _number(options: dict[str, str], name: str, default: int) -> int:
    number = int(options.get(name) or default)
    if number < (0 if name == "n" else 1):
        raise UsageError(f"`-{name}` must be a positive number")
    return number


def _accept(frame: FrameType, line: str) -> None:
    """Accepts a setting that changes nothing: figures are shown as pictures in any case."""


def _configure(frame: FrameType, line: str) -> None:
    """Accepts settings of inline figures."""
    if not line.strip().startswith("InlineBackend"):
        raise UsageError("`%config` has nothing to configure here but `InlineBackend`")


_MAGICS = {"config": _configure, "matplotlib": _accept, "time": _time, "timeit": _timeit}

_SHELL = (
    "no shell of the machine runs here: `subprocess.run(command, shell=True)` executes simple command lines of "
    "Python programs and small utilities"
)

_INSTEAD = {
    "alias": _SHELL,
    "autoreload": "use `importlib.reload(module)` after a change of its file",
    "bash": _SHELL,
    "capture": "use `contextlib.redirect_stdout(io.StringIO())`",
    "cat": "use `print(open(name).read())`",
    "cd": "use `os.chdir(path)`",
    "cmd": _SHELL,
    "cp": "use `shutil.copy(source, target)`",
    "debug": "nobody types here: print what you need, or look at `sys.last_exc`",
    "env": "use `os.environ`",
    "history": "the list `In` has the sources of the cells",
    "html": "use `display(HTML(text))` with `from IPython.display import HTML`",
    "javascript": "no browser runs here",
    "js": "no browser runs here",
    "latex": "use `display(Latex(text))` with `from IPython.display import Latex`",
    "load_ext": "extensions of IPython cannot be loaded; import the package itself",
    "ls": "use `os.listdir(path)`",
    "lsmagic": "there are %matplotlib, %time, %timeit, %%time and %%timeit",
    "markdown": "use `display(Markdown(text))` with `from IPython.display import Markdown`",
    "memit": "use `tracemalloc`",
    "mkdir": "use `os.makedirs(path)`",
    "mv": "use `shutil.move(source, target)`",
    "pdb": "nobody types here: print what you need",
    "precision": "use f-strings, or `numpy.set_printoptions`",
    "prun": "use `cProfile.run(statement)`",
    "pwd": "use `os.getcwd()`",
    "pylab": "import what you need: `import numpy as np` and `import matplotlib.pyplot as plt`",
    "python": "write the code into the cell itself",
    "python3": "write the code into the cell itself",
    "reset": "begin a new session",
    "rm": "use `os.remove(path)` or `shutil.rmtree(path)`",
    "rmdir": "use `os.rmdir(path)`",
    "run": "use `runpy.run_path(path)`",
    "script": _SHELL,
    "set_env": "use `os.environ`",
    "sh": _SHELL,
    "svg": "use `display(SVG(text))` with `from IPython.display import SVG`",
    "sx": _SHELL,
    "system": _SHELL,
    "who": "use `dir()`",
    "whos": "use `globals()`",
    "who_ls": "use `dir()`",
    "writefile": "use `pathlib.Path(name).write_text(text)`",
}
"""What to write in the place of magics that make no sense here."""

_COMMANDS = {
    **{name: _INSTEAD[name] for name in ("cat", "cd", "cp", "ls", "mkdir", "mv", "pwd", "rm", "rmdir")},
    "curl": "use `urllib.request` or `requests`",
    "echo": "use `print`",
    "export": "use `os.environ`",
    "find": "use `pathlib.Path(path).rglob(pattern)`",
    "grep": "use `re`",
    "head": "use `open(name).readlines()[:10]`",
    "python": "use `subprocess.run([sys.executable, path])`",
    "python3": "use `subprocess.run([sys.executable, path])`",
    "tail": "use `open(name).readlines()[-10:]`",
    "tar": "use `tarfile`",
    "unzip": "use `zipfile` or `shutil.unpack_archive`",
    "wc": "use `len(open(name).readlines())`",
    "wget": "use `urllib.request` or `requests`",
    "zip": "use `zipfile` or `shutil.make_archive`",
}
"""What to write in the place of commands of a shell."""

_INSTALLERS = frozenset(("conda", "mamba", "micromamba", "pip", "pip3", "uv"))
_LISTED = "load_skills_protocol_guide lists what is installed"
_EXISTING = "%matplotlib, %time, %timeit, %%time and %%timeit"


class Shell:
    """What `get_ipython()` returns in a cell: the magics."""

    def run_line_magic(self, magic_name: str, line: str, _stack_depth: int = 1) -> Any:
        """Runs a magic on its line.

        Raises:
            UsageError: There is none, or it makes no sense here.
        """
        function = _MAGICS.get(magic_name)
        if function is None:
            raise _refused(f"%{magic_name}", magic_name, line)
        return function(_getframe(_stack_depth), line)

    def run_cell_magic(self, magic_name: str, line: str, cell: str) -> Any:
        """Runs a magic on the lines below it.

        Raises:
            UsageError: There is none, or it makes no sense here.
        """
        if magic_name == "time":
            return _time(_getframe(1), cell)
        if magic_name == "timeit":
            return _timeit(_getframe(1), line, cell)
        raise _refused(f"%%{magic_name}", magic_name, line)

    def time_awaited(self, text: str) -> Coroutine[Any, Any, Any]:
        """Runs a statement that awaits something, prints its times, and returns its value."""
        frame = _getframe(1)
        return _awaited(*_code(frame, text), frame.f_globals, frame.f_locals)

    def magic(self, text: str) -> Any:
        """Runs a magic that is given as one text."""
        name, _, line = text.lstrip("%").partition(" ")
        return self.run_line_magic(name, line, _stack_depth=2)

    def system(self, command: str) -> Any:
        """Refuses: there is no shell.

        Raises:
            UsageError: Always; the message says what to write.
        """
        raise _refused_command(command)

    getoutput = system

    def help(self, name: str) -> Any:
        """Refuses: nobody looks at a pager.

        Raises:
            UsageError: Always.
        """
        raise UsageError(f"`?` shows nothing here: use `help({name})` or `print({name}.__doc__)`")

    def __repr__(self) -> str:
        return "<the magics of a session>"


async def _awaited(code: Any, value: Any, names: Any, local: Any) -> Any:
    timing = Timing()
    ran = _eval(code, names, local)
    if code.co_flags & 0x80:
        await ran
    result = None
    if value is not None:
        result = _eval(value, names, local)
        if value.co_flags & 0x80:
            result = await result
    timing.show()
    return result


def _refused(shown: str, name: str, line: str) -> UsageError:
    if name in _INSTALLERS:
        return UsageError(f"`{shown}`: {advice.about_installing(line)}; {_LISTED}")
    instead = _INSTEAD.get(name)
    if instead is not None:
        return UsageError(f"`{shown}` does nothing here: {instead}")
    return UsageError(f"there is no magic `{shown}`; there are {_EXISTING}")


def _refused_command(command: str) -> UsageError:
    words = [word for word in command.split() if word not in ("sudo", "!", "-m")]
    name = words[0] if words else ""
    if name.startswith("python") and len(words) > 1 and words[1] in _INSTALLERS:
        words = words[1:]
        name = words[0]
    if name in _INSTALLERS or name in ("apt", "apt-get") and "install" in words:
        about = advice.about_installing(" ".join(words[1:]))
        return UsageError(f"`!{name}`: {about}; {_LISTED}")
    return UsageError(f"`!{name}` cannot run: {_COMMANDS.get(name, programs.PROCESSES)}")


_shell = Shell()


def get_ipython() -> Shell:
    """Returns what runs magics."""
    return _shell
