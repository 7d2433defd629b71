"""Errors with advice, for operations that cannot work in the sandbox.

An error has the type that programs expect, so that `except ImportError` and `except OSError` keep
working. Only its text differs.
"""

from __future__ import annotations

import builtins
import concurrent.futures
import contextlib
import errno
import functools
import os
import re
import sys
from collections.abc import Callable
from typing import Any

from _wardian import (
    door,
    figures,
    forks,
    import_hooks,
    network,
    packages,
    places,
    popen,
    processes,
    programs,
    remarks,
    signals,
    threads,
)
from _wardian.programs import PROCESSES

NO_PROCESSES = (
    "there are no other processes in the sandbox: use multiprocessing.Pool or "
    "concurrent.futures.ProcessPoolExecutor, which run the work in turn, or a plain loop"
)
NOTEBOOK = "the code is run as Python, not in a notebook"
COMMANDS = (
    "use `subprocess.run(command, shell=True)`, which executes simple command lines of Python programs; no other "
    "program can run in the sandbox"
)

_modules = sys.modules
_getframe = sys._getframe


class MissingPackages:
    """The last finder: a module that reaches it is not installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Finds nothing.

        Raises:
            ModuleNotFoundError: A program imports a popular package. The message has advice.
        """
        if path is not None:
            return
        advice = packages.substitute_for(name)
        # `importlib.util.find_spec` calls this too, and must get None.
        if advice is not None and _is_import():
            raise ModuleNotFoundError(
                f"No module named {name!r}: it is not installed; {advice}", name=name
            )


class MissingNatives:
    """The first finder where the engine lacks native modules: a folder of stubs in the place of one is no package."""

    def __init__(self, names: frozenset[str]) -> None:
        """A finder for these modules."""
        self.names = names

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Finds nothing.

        Raises:
            ModuleNotFoundError: A program imports one of the modules. The message has advice.
        """
        if name in self.names and _is_import():
            raise ModuleNotFoundError(
                packages.with_advice(f"No module named {name!r}", name), name=name
            )


# As Python cuts its own frames of a failed import out of the traceback, it cuts these.
for _finder in (MissingPackages, MissingNatives):
    _finder.find_spec.__code__ = _finder.find_spec.__code__.replace(  # type: ignore[attr-defined]
        co_filename="<frozen importlib._bootstrap>"
    )


def _is_import() -> bool:
    frame = _getframe(2)
    for _ in range(3):
        if frame is None:
            break
        if frame.f_code.co_name == "_find_and_load_unlocked":
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _refusing(kind: Callable[[str], BaseException], text: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise kind(text)

    return refuse


def _os_error(number: int) -> Callable[[str], OSError]:
    return lambda text: OSError(number, text)


_no_process = _os_error(errno.ENOSYS)


def _patch_os(module: Any) -> None:
    programs.patch_os(module)
    module.popen = popen.popen
    signals.patch_os(module)
    for name in ("fork", "forkpty", "startfile"):
        _refuse(module, name, PROCESSES)
    for name in ("setsid", "setpgid"):
        _refuse(module, name, NO_PROCESSES)
    for name, instead in (
        ("mkfifo", "use a file, or `queue.Queue`"),
        ("mknod", "use `open`, `os.mkdir` or `os.symlink`"),
        ("memfd_create", "use `io.BytesIO`, or `tempfile.TemporaryFile`"),
        ("eventfd", "use `threading.Event`"),
        ("openpty", "use `io.StringIO` in the place of a terminal"),
    ):
        _refuse(module, name, f"the sandbox has no such files: {instead}")
    # The library expects this function wherever `fork` exists.
    forks.install()


def _refuse(module: Any, name: str, advice: str) -> None:
    """Lets a function of `os` raise an error with advice."""
    refuse = _refusing(_no_process, f"os.{name}: {advice}")
    refuse.__name__ = refuse.__qualname__ = name
    refuse.__module__ = "os"
    setattr(module, name, refuse)


def _patch_socket(module: Any) -> None:
    connect = module.create_connection

    @functools.wraps(connect)
    def create_connection(*args: Any, **kwargs: Any) -> Any:
        try:
            return connect(*args, **kwargs)
        except module.gaierror as error:
            # That there is no network says more than that a name is unknown without one.
            advice = getattr(error, "advice", None)
            if advice is None:
                raise
            raise network.no_network(advice) from None

    module.create_connection = create_connection


def _patch_multiprocessing(module: Any) -> None:
    base: Any = _modules["multiprocessing.context"].BaseContext
    for name in (
        "Array", "Barrier", "BoundedSemaphore", "Condition", "Event", "JoinableQueue", "Lock",
        "Manager", "Pipe", "Queue", "RLock", "RawArray", "RawValue", "Semaphore",
        "SimpleQueue", "Value",
    ):
        refuse = _refusing(_no_process, f"multiprocessing.{name}: {NO_PROCESSES}")
        setattr(base, name, refuse)
        setattr(module, name, refuse)
    base.Pool = lambda self, *args, **named: processes.Pool(*args, **named)
    module.Pool = processes.Pool
    _modules["multiprocessing.process"].BaseProcess.start = _refusing(_no_process, NO_PROCESSES)


def _fill_pool(namespace: dict[str, Any]) -> None:
    """Fills `multiprocessing.pool`, whose file cannot be loaded here."""
    namespace["__doc__"] = "Pools of threads."
    namespace["ThreadPool"] = threads.ThreadPool
    for name in ("AsyncResult", "ApplyResult", "MapResult"):
        namespace[name] = threads.AsyncResult
    namespace["Pool"] = processes.Pool
    namespace["__all__"] = ["Pool", "ThreadPool"]


def _input(prompt: object = "", /) -> str:
    """Replaces `input`: reads only from a stream that the program itself has set."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name, None) is None:
            raise RuntimeError(f"input(): lost sys.{name}")
    sys.stdout.write(str(prompt))
    with contextlib.suppress(Exception):  # as CPython does
        sys.stdout.flush()
    if sys.stdin is sys.__stdin__:
        if remarks.of_script():
            raise EOFError(f"input(): nobody types here; {remarks.NO_STDIN}")
        raise EOFError(
            "input(): nobody types here; pass the value in `args` and read it in `main(args)`"
        )
    line = sys.stdin.readline()
    if not isinstance(line, str):
        raise TypeError("object.readline() returned non-string")
    if not line:
        raise EOFError("EOF when reading a line")
    return line.removesuffix("\n")


def _patch_traceback(module: Any) -> None:
    """Lets everything that prints tracebacks say of a missing module what to do here.

    Python's own words are about `site-packages` and virtual environments. For a part of its library that is not
    here they take the place of the error's text, and stay where there is no advice.
    """
    report, text_of = module.TracebackException, module._safe_string
    begin = report.__init__

    @functools.wraps(begin)
    def __init__(self: Any, exc_type: Any, exc_value: Any, exc_traceback: Any, **named: Any) -> None:
        begin(self, exc_type, exc_value, exc_traceback, **named)
        if exc_type is not None and issubclass(exc_type, ModuleNotFoundError):
            text, name = text_of(exc_value, "exception"), getattr(exc_value, "name", None)
            is_plain = text == f"No module named {name!r}" and name not in packages.MISSING_PARTS
            if not (is_plain and name in sys.stdlib_module_names):
                self._str = packages.with_advice(text, name)

    report.__init__ = __init__


def _patch_shutil(module: Any) -> None:
    module.which = programs.which(module.which)


_PATCHES: dict[str, Callable[[Any], None]] = {
    "faulthandler": signals.patch_faulthandler,
    "matplotlib": figures.patch_package,
    "matplotlib.backend_bases": figures.patch,
    "matplotlib.figure": figures.patch_figure,
    "multiprocessing": _patch_multiprocessing,
    "signal": signals.patch_signal,
    "socket": _patch_socket,
    "shutil": _patch_shutil,
    "subprocess": popen.patch_subprocess,
    "traceback": _patch_traceback,
}


def install() -> None:
    """Changes the loaded modules now, and other modules when they are imported."""
    _patch_os(os)
    import_hooks.HOOKS.change(_PATCHES)
    import_hooks.HOOKS.provide({"multiprocessing.pool": _fill_pool})
    sys.meta_path.append(MissingPackages())  # type: ignore[arg-type]
    missing = packages.missing_natives(sys.builtin_module_names)
    if missing:
        sys.meta_path.insert(0, MissingNatives(missing))  # type: ignore[arg-type]
    builtins.input = _input
    concurrent.futures.ProcessPoolExecutor = processes.ProcessPoolExecutor  # type: ignore


_INSTALL = re.compile(
    r"\s*[!%]*\s*(?:sudo |python3? -m )?(?:pip3?|conda|uv|apt|apt-get)\s+(?:pip )?install\s+(.*)"
)


def about_installing(names: str) -> str:
    """Says that nothing can be installed, and what there is in the place of these packages."""
    return packages.about_installing(re.findall(r"[A-Za-z][\w.-]*", names))


def explain_syntax(error: SyntaxError, source: str) -> None:
    """Adds advice to the error if the line is a notebook command or Markdown."""
    lines = source.split("\n")
    line = lines[error.lineno - 1] if error.lineno and error.lineno <= len(lines) else ""
    install = _INSTALL.match(line)
    if install is not None:
        advice = f"{NOTEBOOK}, and {about_installing(install[1])}"
    elif line.lstrip().startswith("!"):
        advice = f"{NOTEBOOK}: {COMMANDS}"
    elif line.lstrip().startswith("%"):
        advice = f"{NOTEBOOK}: leave lines out that begin with `%`"
    elif any(text.lstrip().startswith(("```", "~~~")) for text in lines):
        advice = "send the Python alone, without Markdown around it"
    else:
        return
    error.msg = f"{error.msg} ({advice})"


_FOREIGN = re.compile(r"/(?!workspace(/|$)|tmp(/|$)|dev/|usr/local/)|[A-Za-z]:[\\/]|~")
"""Paths of files on the caller's machine."""


_READ = "the sandbox sees no files of your machine: pass it as a blob in `input_blobs`"
_WRITE = "files are made in the current folder, /workspace, and what is left there is given back: use "

_WRITERS = frozenset({
    "dump", "makedirs", "mkdir", "save", "savefig", "to_csv", "to_excel", "to_feather", "to_html",
    "to_json", "to_markdown", "to_parquet", "to_pickle", "write_bytes", "write_html", "write_image",
    "write_text",
})
_MODES = frozenset({"a", "ab", "w", "w+", "wb", "wb+", "wt", "x", "xb"})


class _Advised(str):
    """The path of an error, printed with advice."""

    advice = ""

    def __repr__(self) -> str:
        return f"{super().__repr__()} ({self.advice})"


def _advised(path: str, advice: str) -> str:
    shown = _Advised(path)
    shown.advice = advice
    return shown


def _is_written(exception: BaseException) -> bool:
    """True if the program's own line that failed looks like one that makes a file or a folder."""
    own = None
    trace = exception.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "main.py" or own is None:
            own = trace.tb_frame.f_code
        trace = trace.tb_next
    if own is None:
        return False
    return not _WRITERS.isdisjoint(own.co_names) or not _MODES.isdisjoint(
        part for part in own.co_consts if type(part) is str
    )


def _is_mounted(name: str) -> bool:
    return any(blob.get("name") == name for blob in door.job.get("blobs", ()))


def explain(exception: BaseException) -> None:
    """Adds advice to an error that ends the program.

    `remarks.of` has what depends on the lines that have failed.
    """
    if type(exception) is ModuleNotFoundError:
        exception.msg = packages.with_advice(exception.msg, exception.name)
    elif type(exception) is NameError:
        if exception.name in ("display", "get_ipython"):
            text = f"{exception.args[0]}: {NOTEBOOK}; print the value, or return it"
            exception.args = (text,)
    elif type(exception) is FileNotFoundError:
        path = exception.filename
        if isinstance(path, programs.Missing):
            return
        name = os.path.basename(path) if isinstance(path, str) else ""
        if name and os.path.dirname(path) and _is_mounted(name):
            exception.filename = _advised(path, f"it is mounted as `{name}`: open that name")
        elif isinstance(path, str) and (about := about_skills(path)) is not None:
            exception.filename = _advised(path, about)
        elif isinstance(path, str) and _FOREIGN.match(path):
            is_written = _is_written(exception)
            exception.filename = _advised(path, f"{_WRITE}`{name}`" if is_written else _READ)
        elif isinstance(path, str) and os.path.basename(path).startswith("blob:"):
            exception.strerror = (
                f"{exception.strerror}: the blob is not mounted in this run, "
                f"add it to `input_blobs` (mounted: {mounted_blobs()})"
            )
        elif isinstance(path, str) and exception.filename2 is None and _is_input(path):
            exception.strerror = (
                f"{exception.strerror}: the program made no such file and no mounted blob has this "
                f"name (mounted: {mounted_blobs()}); name the blob of the file in `input_blobs`"
            )
    elif isinstance(exception, OSError) and exception.errno == errno.EROFS:
        path = exception.filename
        if isinstance(path, str) and _FOREIGN.match(path):
            exception.filename = _advised(path, f"{_WRITE}`{os.path.basename(path)}`")


_MOST_NAMED = 8
_MOST_SEEN = 2_000


def about_skills(path: str) -> str | None:
    """Advice on a missing file that belongs to a mounted skill, or that a mounted skill has elsewhere."""
    begin = f"{places.SKILLS}/"
    try:
        skills = sorted(os.listdir(places.SKILLS))[:_MOST_NAMED]
        if not path.startswith(begin):
            inner = path.removeprefix(f"{places.WORKSPACE}/")
            folders = [os.path.dirname(sys.argv[0])] if sys.argv and sys.argv[0].startswith(begin) else []
            folders += [begin + skill for skill in skills]
            found = [] if inner.startswith("/") else [f"{one}/{inner}" for one in folders]
            there = next((one for one in found if os.path.isfile(one)), None)
            here = "the current folder is that of the run, /workspace, and the skill has"
            return None if there is None else f"{here} `{os.path.normpath(there)}`: open that"
        name = path[len(begin) :].partition("/")[0]
        if not os.path.isdir(begin + name):
            listed = ", ".join(f"`{skill}`" for skill in skills) or "none"
            return f"no skill `{name}` is mounted in this run (mounted: {listed}); code mounts it with `mount_skills`"
        others = _named_so(begin + name, os.path.basename(path))
        if others:
            return f"the skill has {', '.join(f'`{other}`' for other in others)}"
    except OSError:
        return None
    return f"the skill `{name}` has no such file; `os.walk({begin + name!r})` lists what it has"


def _named_so(folder: str, name: str) -> list[str]:
    """Files below a folder with this name, in any case."""
    found, seen = [], 0
    for place, _, names in os.walk(folder):
        seen += len(names) + 1
        found += [f"{place}/{one}" for one in names if one.lower() == name.lower()]
        if seen > _MOST_SEEN:
            break
    return sorted(found)[:_MOST_NAMED]


def mounted_blobs() -> str:
    """The mounted blobs as a list for a message: their names and ids."""
    blobs = door.job.get("blobs", ())
    shown = [
        f"`{blob['name']}` = `{blob['id']}`" if blob.get("name") else f"`{blob['id']}`"
        for blob in blobs[:_MOST_NAMED]
    ]
    if len(blobs) > _MOST_NAMED:
        shown.append(f"{len(blobs) - _MOST_NAMED} others")
    return ", ".join(shown) or "none"


_HAS_ENDING = re.compile(r"[^/]\.[A-Za-z][A-Za-z0-9]{0,9}$")


def _is_input(path: str) -> bool:
    """True for paths at which programs look for files that they were given."""
    folder = os.path.dirname(path)
    if not _HAS_ENDING.search(path):
        return False
    return folder in ("", ".", "data", "./data", "input", "/blobs", "/workspace", "/tmp")
