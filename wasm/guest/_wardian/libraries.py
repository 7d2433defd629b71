"""Changes to packages of the batteries, made when a program imports them.

NLTK finds the data that every run has, and says of other data how to bring it along. Web frameworks
work as libraries; starting their servers says what to do instead. Libraries for agents get what they need
of packages with native code.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from _wardian import places, sealing, time_ordered
from _wardian.import_hooks import Fill

_NLTK_DATA = f"{places.BATTERIES}/nltk-data"
_VADER = f"{places.BATTERIES}/vaderSentiment/vader_lexicon.txt"

_PROVIDED = frozenset({"punkt", "punkt_tab", "stopwords", "vader_lexicon"})
"""Data of NLTK that every run with batteries has, as `nltk.download` names it."""

_OTHER_DATA = (
    "a run has punkt_tab, stopwords and vader_lexicon; other data of NLTK cannot be downloaded: "
    "unzip it into a skill's folder or into /workspace, and append that folder to nltk.data.path"
)

_VADER_OF_NLTK = {":P": None, ":p": "1.4", "badass": "-0.6", "flawed": None, "heart": None, "hearts": None}
"""The words whose measure in NLTK's lexicon is not that of vaderSentiment 3.3.2."""


def _has_data() -> bool:
    return os.path.isdir(_NLTK_DATA)


def add_nltk_data(module: Any) -> None:
    """Adds the folder of the batteries, and the lexicon of VADER, to what NLTK finds."""
    if _has_data():
        module.path.append(_NLTK_DATA)
    find, load = module.find, module.load

    @functools.wraps(find)
    def find_or_advise(resource_name: Any, paths: Any = None) -> Any:
        try:
            return find(resource_name, paths)
        except LookupError as error:
            if paths is None and error.args and _OTHER_DATA not in str(error.args[0]):
                error.args = (f"{error.args[0]}\n{_OTHER_DATA}\n", *error.args[1:])
            raise

    @functools.wraps(load)
    def load_or_derive(resource_url: Any, *args: Any, **named: Any) -> Any:
        try:
            return load(resource_url, *args, **named)
        except LookupError:
            name = str(resource_url).removeprefix("nltk:")
            if not name.startswith("sentiment/vader_lexicon") or not _has_data():
                raise
            return _lexicon()

    module.find, module.load = find_or_advise, load_or_derive


def _lexicon() -> str:
    """NLTK's lexicon of VADER, made of that of the package vaderSentiment."""
    with open(_VADER, encoding="utf-8") as file:
        lines = file.read().rstrip("\n").split("\n")
    kept = [line for line in lines if line.partition("\t")[0] not in _VADER_OF_NLTK]
    changed = [f"{word}\t{measure}" for word, measure in _VADER_OF_NLTK.items() if measure]
    return "\n".join(kept + changed)


def answer_nltk_downloads(module: Any) -> None:
    """Answers a download of data that is there as NLTK does, and says of other data what to do."""
    download = module.download

    @functools.wraps(download)
    def answer(info_or_id: Any = None, *args: Any, **named: Any) -> Any:
        if isinstance(info_or_id, (list, tuple)):
            return all([answer(one, *args, **named) for one in info_or_id])
        stream = named.get("print_error_to") or sys.stderr
        name = getattr(info_or_id, "id", info_or_id)
        if name in _PROVIDED and not named.get("force") and _has_data():
            if not named.get("quiet"):
                print(f"[nltk_data]   Package {name} is already up-to-date!", file=stream)
            return True
        is_there = download(info_or_id, *args, **named)
        if not is_there:
            print(f"[nltk_data] {_OTHER_DATA}", file=stream)
        return is_there

    module.download = answer


_NO_SERVER = "no server can run in the sandbox: {}"


def _refusing(function: Callable[..., Any], advice: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def refuse(*args: Any, **named: Any) -> Any:
        raise RuntimeError(_NO_SERVER.format(advice))

    return refuse


def refuse_servers(module: Any) -> None:
    """`Flask.run` and servers of Werkzeug say how a program calls its application instead."""
    advice = "call the application with app.test_client(), or werkzeug.test.Client"
    for name in ("run_simple", "make_server"):
        setattr(module, name, _refusing(getattr(module, name), advice))


def refuse_django_server(module: Any) -> None:
    """`runserver` of Django says how a program calls its views instead."""
    advice = "call the views with django.test.Client or RequestFactory"
    module.run = _refusing(module.run, advice)


def spare_own_modules(module: Any) -> None:
    """pyfakefs gives every loaded module a false `os`; the real one is implemented in those of ours."""
    own = [one for name, one in sys.modules.items() if name.startswith("_wardian.")]
    module.Patcher.SKIPMODULES.update(own)


def search_few_plugins(module: Any) -> None:
    """Lets pydantic search for its plugins only where there can be one: the packages that every run has are
    none, and there are some two hundred of them, each of which would be read."""
    metadata: Any = sys.modules["importlib.metadata"]  # the module has imported it
    begin = (places.LIBRARY, places.BATTERIES)

    def entry_points(**wanted: Any) -> Any:
        folders = [str(folder) for folder in sys.path if not str(folder).startswith(begin)]
        found = [point for one in metadata.distributions(path=folders) for point in one.entry_points]
        return metadata.EntryPoints(found).select(**wanted)

    module.entry_points = entry_points

LENT: Mapping[str, Mapping[str, Fill]] = {
    "langchain_core.utils.uuid": time_ordered.OF_LANGCHAIN,
    "langsmith._internal._sampling": time_ordered.OF_LANGCHAIN,
    "langsmith._internal._uuid": time_ordered.OF_LANGCHAIN,
    "mcp.server.request_state": sealing.OF_MCP,
}
"""Modules that single modules find while they are loaded, and nobody else."""
