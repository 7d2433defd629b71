"""Programs that are there already: those of the corpora in `tests/`, and notebooks of others."""

import dataclasses
import json
import re
import tarfile
import zipfile
from pathlib import Path

import corpus
import served

from proof import cut
from proof.compare import Expected
from proof.notebook import PATIENT_MS

TESTS = served.REPOSITORY / "tests"
EXPECTATION = re.compile(r"^# expect: (completed|failed) ?(.*)$", re.MULTILINE)
NOTEBOOK_MS = 20_000
"""Some notebooks have cells that never end."""
LIMITS = re.compile(r"^# limits: (.*)$", re.MULTILINE)


@dataclasses.dataclass
class Program:
    """A program as the smallest parts that can be cells."""

    name: str
    parts: list
    params: dict = dataclasses.field(default_factory=dict)
    """Further parameters of the first cell, and so of the session."""
    expected: object = None
    """What says how the results of all cells differ from what is known; `None` if nothing is known."""
    goes_on: bool = False
    """True if the cells after one that failed are executed, as in a notebook."""
    timeout_ms: int = PATIENT_MS
    """Limit of each cell."""


class Ends:
    """An expectation of `tests/fixtures/programs`: how a program ends."""

    def __init__(self, status, kind):
        self.status, self.kind = status, kind

    def difference(self, results):
        """How the last result differs; `None` if it does not."""
        last = results[-1]
        end = last["error"]["type"] if last["status"] == "failed" else "completed"
        right = self.kind if self.status == "failed" else "completed"
        return None if end == right else f"ends as {end}, not as {right}: {last['summary'][:300]}"


def native():
    """Programs as language models write them, with the answers of native CPython."""
    for group in sorted((TESTS / "native/programs").iterdir()):
        answers = json.loads((TESTS / f"native/answers/{group.name}.json").read_text())
        for file in sorted(group.glob("*.py")):
            source = file.read_text(encoding="utf-8")
            expected = Expected(answers.get(file.stem), source)
            parts = cut.statements(source)
            is_script = source.startswith("# script")
            if not is_script and cut.defines_main(source):
                parts = [*parts, cut.CALL_MAIN]
            yield Program(f"{group.name}/{file.stem}", parts, expected=expected)


def fixtures():
    """Programs that test promises to programs, and say how they end."""
    folder = TESTS / "fixtures/programs"
    for file in sorted(folder.glob("*/*.py")):
        source = file.read_text(encoding="utf-8")
        status, more = EXPECTATION.search(source).groups()
        limits = LIMITS.search(source)
        parts = cut.statements(source)
        if cut.defines_main(source):
            parts = [*parts, cut.CALL_MAIN]
        params = json.loads(limits.group(1)) if limits else {}
        name = f"{file.parent.name}/{file.stem}"
        yield Program(name, parts, params, Ends(status, more.strip()))


def reproducible():
    """The programs of reproducible runs."""
    for name, code, params in corpus.programs():
        if set(params) - {"args", "timeout_ms", "limits"}:
            continue
        parts = cut.statements(code)
        if cut.defines_main(code) and not code.rstrip().endswith(")"):
            parts = [*parts, f"main({params.get('args', {})!r})"]
        limits = {name: value for name, value in params.get("limits", {}).items() if name != "fuel"}
        yield Program(name, parts, {"limits": limits} if limits else {})


CORPORA = {"native": native, "fixtures": fixtures, "reproducible": reproducible}


def notebooks(place):
    """The notebooks of a file, of a folder, or of an archive such as a package's sources."""
    place = Path(place)
    for name, text in sorted(_notebooks_in(place)):
        cells = [
            "".join(cell["source"]) for cell in json.loads(text).get("cells", [])
            if cell.get("cell_type") == "code"
        ]  # fmt: skip
        cells = [cell for cell in cells if cell.strip()]
        if cells:
            yield Program(f"notebook {name}", cells, goes_on=True, timeout_ms=NOTEBOOK_MS)


def _notebooks_in(place):
    """Names and texts."""
    if place.is_dir():
        for file in place.rglob("*.ipynb"):
            yield str(file.relative_to(place)), file.read_text(encoding="utf-8")
    elif zipfile.is_zipfile(place):
        with zipfile.ZipFile(place) as archive:
            for name in archive.namelist():
                if name.endswith(".ipynb"):
                    yield name, archive.read(name).decode()
    elif tarfile.is_tarfile(place):
        with tarfile.open(place) as archive:
            for member in archive:
                if member.isfile() and member.name.endswith(".ipynb"):
                    yield member.name, archive.extractfile(member).read().decode()
    else:
        yield place.name, place.read_text(encoding="utf-8")
