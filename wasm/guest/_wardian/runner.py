"""Runs one program from its job to its report."""

from __future__ import annotations

import _random
import atexit
import logging
import os
import random
import sys
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from typing import Any

from _wardian import (
    child_state,
    conversion,
    door,
    entrypoint,
    event_loop,
    failure,
    figures,
    importer,
    open_files,
    places,
    script,
    skill_scripts,
    sockets,
    threads,
    timers,
    trace,
)
from _wardian.failure import EntrypointNotFound

_modules = sys.modules
_environment = os.environ
_library_path = tuple(sys.path)

_random_seed = _random.Random.seed
_random_generator: Any = random._inst
_logging: Any = logging
_now = time.time if isinstance(_logging._startTime, float) else time.time_ns

_exit_handlers, _run_exit_handlers = atexit._ncallbacks, atexit._run_exitfuncs
_streams = (sys.stdout, sys.stderr)

_kept: list[object] = [_modules.get("__main__")]
"""Objects that a run replaces or leaves behind. The whole memory is discarded after the run, so
they are kept alive: freeing them costs time, runs `__del__` methods, and overflows the stack if
they are nested deeply enough."""


def run() -> None:
    """Runs the job that the host has for this image, and reports how it ended."""
    is_script = False
    try:
        job = door.read_job()
        if "cell" in job:
            return run_cell(job)
        prepare(job)
        is_script = _script_of(job) is not None
        value, is_last = _execute(job)
        _kept.append(value)
        if is_last and not job["strict_output"]:  # then its text is the output
            script.show_table(value)
        threads.finish()
        timers.end()
        report = (conversion.shown if is_last else conversion.returned)(value, job["strict_output"])
        if "code" in job["program"]:
            figures.save_open()
    except BaseException as exception:
        end_timer()
        _kept.append(exception)
        report = failure.raised(exception)
        if is_script:
            skill_scripts.show(exception)
        _finish_threads()
    finish()
    send(report)


def _no_cells(job: dict[str, Any]) -> None:
    raise RuntimeError("there are no cells in this image")


run_cell: Callable[[dict[str, Any]], None] = _no_cells
"""Runs the job of a cell; it never raises. `cells`, which builds on this module, provides it."""


def end_timer() -> None:
    """Ends the timer of a program that has failed. Its handler may raise once more meanwhile."""
    while True:
        try:
            return timers.end()
        except BaseException:
            pass


def prepare(job: dict[str, Any]) -> None:
    """Sets the state that must differ between two runs of one image."""
    seed = job["seed"]
    _random_seed(_random_generator, seed)
    numpy_random = _modules.get("numpy.random.mtrand")
    if numpy_random is not None:
        numpy_random._rand.seed(seed >> 32 & 0xFFFFFFFF)
    _logging._startTime = _now()
    environment = job["environment"]
    if environment:
        _environment.update(environment)
    packages = job["packages"]
    if packages:  # before the batteries, whose versions may be others
        at = sys.path.index(places.BATTERIES)
        sys.path[at:at] = packages
    importer.mount(job["skills"])
    child_state.begin_run()


def forget_run() -> None:
    """Forgets the state of a run. Only rehearsals need it: each real run has a new memory."""
    del _kept[1:]
    threads.forget()
    timers.forget()
    sockets.forget()
    figures.forget()
    _random_generator.gauss_next = None  # half of a pair of normal numbers


def _execute(job: dict[str, Any]) -> tuple[Any, bool]:
    """Loads the program, calls its function and returns the value.

    The second part is True if the value is that of a last expression, which was not returned.
    """
    program = job["program"]
    code = program.get("code")
    if code is None:
        call = _script_of(job)
        if call is not None:
            skill_scripts.run(program["skill"]["name"], call)
            return None, False
        return _execute_skill(job, program["skill"]["name"]), False
    return _execute_code(job, code["source"], code["file_name"])


def _script_of(job: dict[str, Any]) -> dict[str, Any] | None:
    """The script that a call names in place of the entrypoint of its skill."""
    skill = job["program"].get("skill")
    return None if skill is None else skill.get("script")


def _execute_code(job: dict[str, Any], source: str, file_name: str) -> tuple[Any, bool]:
    """Runs source text as a module, and calls its entrypoint unless it has called it itself."""
    source = script.cleaned(source)
    trace.remember_source(file_name, source)
    name, args = job["entrypoint"], job["args"]
    ended = script.run(source, file_name, name, args)
    function = _left_to_call(ended, name, file_name)
    if function is None:
        return ended.value, ended.is_last
    return entrypoint.call(function, args), False


def in_steps(
    job: dict[str, Any], given: Mapping[str, Any]
) -> Generator[Awaitable[Any], Any, tuple[Any, bool]]:
    """As the execution of a program, but yields what is to be awaited. The module of code begins with the
    names in `given`."""
    program = job["program"]
    if program.get("code") is not None:
        return (yield from _code_in_steps(job, given))
    call = _script_of(job)
    if call is not None:
        skill_scripts.run(program["skill"]["name"], call)
        return None, False
    function = _function_of_skill(job, program["skill"]["name"])
    value = entrypoint.called(function, job["args"])
    return (yield value) if event_loop.is_awaitable(value) else value, False


def _code_in_steps(
    job: dict[str, Any], given: Mapping[str, Any]
) -> Generator[Awaitable[Any], Any, tuple[Any, bool]]:
    code = job["program"]["code"]
    source, file_name = script.cleaned(code["source"]), code["file_name"]
    trace.remember_source(file_name, source)
    name, args = job["entrypoint"], job["args"]
    ended = yield from script.steps(source, file_name, name, args, given)
    function = _left_to_call(ended, name, file_name)
    if function is None:
        return ended.value, ended.is_last
    value = entrypoint.called(function, args)
    return (yield value) if event_loop.is_awaitable(value) else value, False


def _left_to_call(
    ended: script.Ended, name: str | None, file_name: str
) -> Callable[..., Any] | None:
    """The function that is to be called after its module has run. `None` for a script."""
    if ended.has_run or (name is None and script.lacks_main(ended.namespace)):
        return None
    return entrypoint.find(ended.namespace, name or "main", file_name)


def _execute_skill(job: dict[str, Any], name: str) -> Any:
    """Imports a skill's entrypoint file and calls its export."""
    return entrypoint.call(_function_of_skill(job, name), job["args"])


def _function_of_skill(job: dict[str, Any], name: str) -> Callable[..., Any]:
    """Imports a skill's entrypoint file and returns its export."""
    mounted = next((skill for skill in job["skills"] if skill["name"] == name), None)
    if mounted is None or mounted["entrypoint"] is None:
        raise EntrypointNotFound(f"the skill `{name}` has no code to run")
    path = mounted["entrypoint"]["path"]
    file = f"{places.SKILLS}/{name}/{path}"
    sys.argv = [file]
    # For `importlib.import_module("utils")`; plain imports do not need it. Last, so that it
    # shadows nothing.
    sys.path.append(file.rpartition("/")[0])
    module = importer.import_skill(name)
    _modules["__main__"] = module
    export = job["entrypoint"] or mounted["entrypoint"]["export"]
    return entrypoint.find(module.__dict__, export, path)


def _finish_threads() -> None:
    """Runs the remaining threads of a program that has failed, as Python does."""
    try:
        threads.finish()
    except BaseException:
        pass


def finish() -> None:
    """Runs the exit handlers and flushes the streams, even if the program has replaced them."""
    try:
        if _exit_handlers():
            _run_exit_handlers()
    except BaseException:
        pass
    for stream in (getattr(sys, "stdout", None), getattr(sys, "stderr", None), *_streams):
        try:
            if stream is not None:
                stream.flush()
        except BaseException:
            pass
    sys.stdout, sys.stderr = _streams  # the interpreter flushes these once more


def send(report: bytes) -> None:
    """Reports the end of the program, and flushes the files that it was still writing."""
    try:
        are_open = door.ask(report)
    except Exception as refused:
        are_open = door.ask(failure.raised(refused))
    if are_open:
        try:
            open_files.flush()
        except BaseException:
            pass
