"""Runs a few programs while the image is built, to make the first real run fast.

CPython specialises code while it runs, and many caches fill on first use. This warm state becomes
part of the image. Other traces of these programs must not, so each runs with a simulated host, and
its traces are removed.
"""

from __future__ import annotations

import gc
import io
import json
import linecache
import os
import shutil
import sys
from typing import Any

from _wardian import cells, door, importer, places, runner

_ROUNDS = 12  # more than CPython's specialiser needs

_PROGRAMS = (
    'def main(args):\n    return {"summary": "ok", "rows": [1, 2.5, None, True, args]}\n',
    "import asyncio\nasync def main(args):\n    await asyncio.sleep(0)\n    return 1\n",
    "def main():\n    print('x')\n    return {'values': object()}\n",
    "import datetime\n{'values': {1, 2}, 'when': datetime.date(2026, 1, 1)}\n",
    "def main(args):\n    return args['missing']\n",
    "from runtime import blobs, log, run\nlog.info('run %s', run.id)\nprint(blobs.list())\n",
    "def main(args)\n    return 1\n",
)
_CELLS = (
    ("import math\nx = [1]\ndef double(n):\n    return 2 * n\n", 0x02),
    ("x.append(double(2))\nprint(x)\nx", 0x02),
    ("import asyncio\nawait asyncio.sleep(0)\nx.pop()", 0x02),
    ("display(x)\nclass Shown:\n    def _repr_html_(self):\n        return '<b>'\nShown()", 0x0B),
    ("double(y)", 0x03),
)
_SKILL = "wardian.rehearsal"
_SKILL_FILES = {
    "main.py": "import helper\ndef main(args):\n    return helper.double(args)\n",
    "helper.py": "def double(args):\n    return {'twice': [args, args]}\n",
}


class UnexpectedEnd(RuntimeError):
    """A rehearsed program ended in an unexpected way: the image must not be used."""


def rehearse() -> None:
    """Runs the programs and removes their traces.

    Raises:
        UnexpectedEnd: One of them did not send exactly the expected report.
    """
    ends = [0x02, 0x02, 0x03, 0x0B, 0x03, 0x02, 0x03]
    for _ in range(_ROUNDS):
        for source, end in zip(_PROGRAMS, ends, strict=True):
            program = {"code": {"source": source, "file_name": "main.py"}}
            _perform(_job(program, []), end)
    for _ in range(_ROUNDS):
        for number, (source, end) in enumerate(_CELLS, 1):
            program = {"code": {"source": source, "file_name": "main.py"}}
            order = {"number": number, "reseed": False}
            _perform(_job(program, []) | {"cell": order}, end)
        cells.forget()
    skill_root = f"{places.WORKSPACE}/.rehearsal"
    try:
        _write_skill(f"{skill_root}/{_SKILL}/code")
        entrypoint = {"path": "code/main.py", "export": "main"}
        mounted = {"name": _SKILL, "version": "1.0.0", "entrypoint": entrypoint}
        real_root, places.SKILLS = places.SKILLS, skill_root
        for _ in range(_ROUNDS):
            _perform(_job({"skill": {"name": _SKILL}}, [mounted]), 0x02)
            _forget_skills()
        places.SKILLS = real_root
    finally:
        shutil.rmtree(skill_root, ignore_errors=True)
    gc.collect()


def _job(program: dict[str, Any], skills: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "run_id": "run_rehearsal",
        "program": program,
        "entrypoint": None,
        "args": {"n": 1},
        "skills": skills,
        "blobs": [],
        "packages": [],
        "environment": {},
        "seed": 0x5EED_5EED_5EED_5EED,
        "strict_output": False,
    }


def _perform(job: dict[str, Any], end: int) -> None:
    answer = b"\0" + json.dumps(job).encode()
    reports = []

    def call(request: bytes) -> bytes:
        if request[0] in (0x02, 0x03, 0x0B):
            reports.append(request)
        return answer if request == door.JOB else b"\0"

    modules, argv, path = dict(sys.modules), sys.argv, list(sys.path)
    streams = sys.stdout, sys.stderr
    real_call, door.call = door.call, call
    sys.stdout = sys.stderr = _Nowhere()
    try:
        runner.run()
    finally:
        door.call, door.job = real_call, {}
        importer.mount(())
        sys.stdout, sys.stderr = streams
        sys.argv, sys.path[:] = argv, path
        for name in [name for name in ("main", "__main__") if name in sys.modules]:
            del sys.modules[name]
        if "__main__" in modules:
            sys.modules["__main__"] = modules["__main__"]
        for name in ("main.py", f"{places.WORKSPACE}/main.py"):
            linecache.cache.pop(name, None)
        runner.forget_run()
    if [report[0] for report in reports] != [end]:
        raise UnexpectedEnd(f"a rehearsed program ended otherwise than with {end}: {reports!r}")


class _Nowhere(io.TextIOBase):
    """A stream that discards its output."""

    def write(self, text: str) -> int:
        return len(text)


def _write_skill(folder: str) -> None:
    os.makedirs(folder)
    for name, source in _SKILL_FILES.items():
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write(source)


def _forget_skills() -> None:
    for name in [name for name in sys.modules if name.startswith("skills.")]:
        del sys.modules[name]
    package = sys.modules["skills"].__dict__
    package.pop(_SKILL.partition(".")[0], None)
