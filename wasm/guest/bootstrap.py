"""Turns a freshly started interpreter into an image that runs programs.

The host executes this text once, in one turn, with three globals defined above it:

    MODULES   {module name: (is a package, source text)}: `_wardian`, `runtime` and what is in them
    WARM_UPS  [(file name, source text)]: files of `images/`, `base.py` first
    WARM_UPS_WITH_BATTERIES  the same: those that import batteries

and needs the folders that every run has: a writable `/workspace`, also seen as `/tmp`, the library,
and the batteries if some are imported. Afterwards it copies the memory. An exception means that there is no image.

The image has imported and used what the warm-ups say, knows the modules, and replaces the step in
which the interpreter would parse a turn's text by the call of `_wardian.run`.
"""

import atexit
import builtins
import gc
import linecache
import os
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

OWN_CODE = "<wardian>/"

BATTERIES = "/usr/local/lib/batteries"  # as in `_wardian.places`, which is loaded later

ENVIRONMENT = {
    "HOME": "/workspace",
    "LANG": "C.UTF-8",
    "PATH": "/usr/bin:/bin",
    "TMPDIR": "/tmp",
}


COMPLETED = (
    "_locale", "_queue", "_signal", "_socket", "_ssl", "_thread", "_threading_local",
    "concurrent.futures", "concurrent.futures._base", "concurrent.futures.thread",
    "faulthandler", "fcntl", "grp", "hashlib", "locale", "os", "posix", "pwd", "queue",
    "select", "shutil", "signal", "threading", "time",
)  # fmt: skip
"""Modules of the interpreter that are completed or replaced in place."""


class SourceFinder:
    """Finds modules in `MODULES`; also their loader."""

    def __init__(self, modules):
        self.modules = modules
        # Own builtins: a program that rebinds `builtins.len` changes its own world only.
        self.builtins = dict(vars(builtins))

    def find_spec(self, name, path=None, target=None):
        if name not in self.modules:
            return None
        is_package, _ = self.modules[name]
        spec = ModuleSpec(name, self, origin=self.file_name(name), is_package=is_package)
        spec.has_location = True
        return spec

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name = module.__name__
        module.__dict__["__builtins__"] = self.builtins
        exec(compile(self.get_source(name), self.file_name(name), "exec", 0, True), vars(module))

    def get_source(self, name):
        return self.modules[name][1]

    def file_name(self, name):
        is_package, _ = self.modules[name]
        return OWN_CODE + name.replace(".", "/") + ("/__init__.py" if is_package else ".py")


def prepare_process():
    """Sets what is the same in every run; tells the library what it would find out by trying."""
    import _sitebuiltins
    import tempfile
    import zoneinfo

    sys.dont_write_bytecode = True
    os.environ.clear()
    os.environ.update(ENVIRONMENT)
    os.chdir("/workspace")
    sys.path.append(BATTERIES)  # behind the library, whose packages come first
    sys.path.append("/workspace")  # behind the library: a file there shadows nothing
    sys.argv = ["main.py"]
    zoneinfo.reset_tzpath(to=())  # time zones come from the package tzdata
    tempfile.tempdir = "/tmp"
    for name in ("exit", "quit"):  # the interpreter's own mean the end of more than a program
        setattr(builtins, name, _sitebuiltins.Quitter(name, "end of input"))
    for stream, errors in ((sys.stdout, "strict"), (sys.stderr, "backslashreplace")):
        stream.reconfigure(encoding="utf-8", errors=errors, line_buffering=True)


def install_first(modules):
    """Installs what other modules look at while they are imported.

    `errors` comes first, since modules take numbers from `errno`; `accounts` makes `pwd` and `grp`
    importable before `pathlib` looks for them.
    """
    for name in ("errors", "accounts"):
        namespace = {"__name__": f"_wardian.{name}", "__builtins__": builtins}
        source, file_name = modules[f"_wardian.{name}"][1], f"{OWN_CODE}_wardian/{name}.py"
        exec(compile(source, file_name, "exec", 0, True), namespace)
        namespace["install"]()


def install_network(modules):
    """Puts `_socket`, `_ssl` and `select` in place before anything imports what is on top of them.

    asyncio looks for `ssl` while it is imported, and keeps what it finds. The package itself imports
    asyncio, so these modules are loaded without it; it finds them loaded later.
    """
    package = ModuleType("_wardian")
    package.__path__ = []
    sys.modules["_wardian"] = package
    finder = SourceFinder(modules)
    sys.meta_path.insert(0, finder)
    from _wardian import readiness, sockets, tls

    sys.meta_path.remove(finder)
    del sys.modules["_wardian"]
    sockets.install()
    tls.install()
    readiness.install()


def install_platform():
    """Gives the standard library what WASI does not have."""
    from _wardian import platform

    platform.install()


def install_modules(modules):
    """Imports every module of `modules`; nothing of them is loaded later."""
    finder = SourceFinder(modules)
    sys.meta_path.insert(0, finder)
    for name in modules:
        __import__(name)
        package, _, short = name.rpartition(".")
        if package:  # what was loaded before its package is not known to it
            setattr(sys.modules[package], short, sys.modules[name])
    sys.meta_path.remove(finder)

    from _wardian import advice, amendments, event_loop, import_hooks, importer, late, patches
    from _wardian import threads

    import_hooks.install()
    amendments.install()
    event_loop.install()
    threads.install()
    importer.install()
    advice.install()
    patches.install()
    late.install()


def warm_up(warm_ups, with_batteries):
    """Runs the files that import and use what users will use.

    Only those of batteries see the batteries: the others are the same in all images.
    """
    from _wardian import late

    late.offer_pytz()
    late.begin_notes()
    at = sys.path.index(BATTERIES)
    del sys.path[at]
    run_all(warm_ups)
    sys.path.insert(at, BATTERIES)
    run_all(with_batteries)


def run_all(files):
    """Executes files, each in a namespace of its own."""
    for file_name, source in files:
        namespace = {"__name__": "warm_up", "__builtins__": builtins}
        exec(compile(source, OWN_CODE + file_name, "exec", 0, True), namespace)


def forget_the_build():
    """Removes what belongs to this process and not to the runs."""
    import tempfile

    from _wardian import child_modules, child_state, clock, event_loop, files

    child_modules.note_image()
    child_state.note_image()
    clock.forget()
    files.forget()
    event_loop.provide_loop()
    atexit._clear()  # what packages have registered concerns the end of this process
    linecache.clearcache()
    tempfile._name_sequence = None
    for folder in ("/workspace", BATTERIES):
        sys.path_importer_cache.pop(folder, None)
    for name in ("last_exc", "last_type", "last_value", "last_traceback"):
        if hasattr(sys, name):
            delattr(sys, name)


def keep_completed_modules():
    """Lets a program import the modules again that were completed in place."""
    from _wardian import import_hooks

    import_hooks.HOOKS.keep(COMPLETED)


def start_runs_directly():
    """Lets a turn call `run` instead of parsing the text that asks for it."""
    import _reactor

    import _wardian

    if not callable(getattr(_reactor, "_run_turn", None)):
        raise RuntimeError("this interpreter runs its turns otherwise: `_run_turn` is not there")
    run = _wardian.run
    _reactor._run_turn = lambda text, name: run()


def build(modules, warm_ups, with_batteries):
    """Makes everything ready, in the order in which one needs the other."""
    install_first(modules)
    install_network(modules)
    prepare_process()
    install_modules(modules)
    install_platform()
    warm_up(warm_ups, with_batteries)

    from _wardian import amendments, library, rehearsal

    rehearsal.rehearse()
    amendments.set_maxsize()
    library.amend_recursion_limit(sys)
    forget_the_build()
    keep_completed_modules()
    start_runs_directly()


if __name__ == "__main__":
    build(MODULES, WARM_UPS, WARM_UPS_WITH_BATTERIES)  # noqa: F821
    for _name in [name for name in globals() if not name.startswith("_") and name != "gc"]:
        del globals()[_name]
    gc.collect()
    gc.freeze()  # what lives now lives for ever: collections of a run need not look at it
