"""Sessions: what they take on the disk and in memory, and how long their cells take.

Each part has a server of its own, whose limits on sessions are raised. One makes forks of a
session with pandas, and many sessions at once. One interrupts cells that compute. One keeps as
many interpreters as it is asked for. The others have parked sessions: one with an array of 64 MiB,
small ones with pandas, or a mix. They keep one interpreter, so that a random session has to be
restored from the disk. Empty runs take turns with the cells. Beside the times that a client sees
are those that the server itself measures for resumes.
"""

from __future__ import annotations

import contextlib
import json
import random
import re
import socket
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import served
from bench import session_bars
from bench.figures import percentile
from bench.slow_clients import resident

SMALL = """
import pandas as pd
table = pd.DataFrame({"k": [n % 7 for n in range(500)], "v": range(500)})
totals = table.groupby("k").v.sum()
"""
MODEL = """
import numpy as np
from sklearn.linear_model import LinearRegression
rows = np.random.random((2_000, 8))
model = LinearRegression().fit(rows, rows.sum(axis=1))
"""
PLOT = """
import matplotlib.pyplot as plt
figure, axes = plt.subplots()
axes.plot([n * n for n in range(100)])
figure.savefig("plot.png")
"""
FRAME = """
import io
import pandas as pd
lines = "\\n".join(f"{n},{n * 0.37:.3f},{n % 97},name-{n % 1_000}" for n in range(350_000))
frame = pd.read_csv(io.StringIO("number,price,group,name\\n" + lines))
del lines
"""
"""A CSV of 10 MB."""
ARRAY = """
import numpy as np
array = np.random.random(8 << 20)
"""
"""An array of 64 MiB."""

SHARES = ((SMALL, 16), (MODEL, 2), (PLOT, 1), (FRAME, 1))
"""Of 20 sessions: 80 % small, 15 % models and plots, 5 % frames."""

FORKS = 16
AT_ONCE = 100
QUICK = {"sessions": 20, "kept": 4, "calls": 10, "at_once": 10}
"""The small form."""


@dataclass(frozen=True)
class Form:
    """How much is measured."""

    sessions: int = 1_000
    kept: int = 300
    calls: int = 200
    at_once: int = AT_ONCE


class NotKept(Exception):
    """A cell did not complete, or its state was not kept."""


class Measured:
    """A server whose limits on sessions are raised, and a client of it."""

    def __init__(self, server: served.Server, admin: str) -> None:
        self.server, self.admin = server, admin
        self.client = server.client()

    def cell(self, code: str, session: str, client: served.Client | None = None) -> str:
        """Runs a cell that must be kept, and returns the id of its session."""
        params = {"language": "python", "code": code, "session": session}
        result = (client or self.client).call("run_code", params)
        if result["status"] != "completed" or result["session"]["state"] != "kept":
            raise NotKept(json.dumps(result)[:500])
        return str(result["session"]["id"])

    def run(self) -> None:
        """An empty run."""
        self.client.call("run_code", {"language": "python", "code": "1"})

    def ask(self, verb: str, path: str, body: object = None) -> Any:
        """The answer to a request about sessions."""
        kind = {"Content-Type": "application/json"}
        text = None if body is None else json.dumps(body)
        status, answer = self.client.request(verb, f"/v1/sessions{path}", text, kind)
        if status >= 300:
            raise RuntimeError(f"{verb} /v1/sessions{path}: {status} {answer[:300]!r}")
        return json.loads(answer) if answer else None

    def memory(self) -> dict[str, float]:
        """Anonymous memory of the gateway and of all workers, in MiB."""
        workers = 0.0
        for worker in self.server.workers():
            with contextlib.suppress(OSError, StopIteration):
                workers += resident(worker)
        gateway = resident(self.server.process.pid)
        return {"gateway_mib": round(gateway, 1), "workers_mib": round(workers, 1)}

    def resumes(self) -> tuple[float, int]:
        """Seconds of all resumes so far, as the server measures them, and their number."""
        with urllib.request.urlopen(f"http://{self.admin}/metrics", timeout=60) as answer:
            text = answer.read().decode()
        figures = dict(re.findall(r"^wardian_session_resume_seconds_(sum|count) (\S+)$", text, re.M))
        return float(figures["sum"]), int(float(figures["count"]))

    def resume_since(self, before: tuple[float, int]) -> dict[str, float]:
        """The mean of the resumes since then."""
        seconds, count = (now - then for now, then in zip(self.resumes(), before, strict=True))
        return {"resumes": count, "resume_by_the_server_ms": round(1e3 * seconds / max(count, 1), 3)}

    def disk(self, sessions: int) -> dict[str, float]:
        """What sessions take on the disk: sealed states, and their rows beside them."""
        states = self.ask("GET", "?limit=1")["usage"]["bytes"]
        data = self.server.folder / "data"
        rows = sum(file.stat().st_size for file in data.glob("sessions.db*"))
        return {
            "sessions": sessions,
            "states_mb": round(states / 1e6, 2),
            "rows_mb": round(rows / 1e6, 2),
            "bytes_each": round((states + rows) / max(sessions, 1)),
            "mb_for_1000": round((states + rows) / max(sessions, 1) / 1e3, 1),
        }

    def make(self, codes: list[str]) -> dict[str, str]:
        """Makes a session of each program; returns the programs of those that were kept, by id."""
        made = {}
        for number, code in enumerate(codes, start=1):
            try:
                made[self.cell(code, "new")] = code
            except NotKept as lost:
                print(f"not kept: {lost}", file=sys.stderr, flush=True)
            if number % 50 == 0:
                print(f"{number} of {len(codes)} sessions ...", file=sys.stderr, flush=True)
        return made

    def close(self, sessions: list[str]) -> None:
        """Closes sessions."""
        for session in sessions:
            self.ask("DELETE", f"/{session}")


@contextlib.contextmanager
def serving(program: Path, workers: int, form: Form, warm: int) -> Iterator[Measured]:
    """A server that keeps `warm` interpreters."""
    settings = {
        "sessions.warm": warm,
        "sessions.warm_memory": "64 GiB",
        "sessions.max": 4 * form.sessions + 1_000,
        "sessions.quota": "64 GiB",
        "limits.max.timeout": "10 min",
        "limits.timeout": "10 min",
    }
    chosen = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    admin = f"127.0.0.1:{free_port()}"
    arguments = ("--log-level=warn", "--workers", str(workers), "--admin-listen", admin, *chosen)
    with served.Server(program, *arguments) as server:
        yield Measured(server, admin)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def mix(count: int) -> list[str]:
    """So many programs of the mix."""
    pattern = [code for code, share in SHARES for _ in range(share)]
    return [pattern[number % len(pattern)] for number in range(count)]


def taken(call: Callable[[], object]) -> float:
    """Milliseconds of a call."""
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1e3


def times(found: list[float]) -> dict[str, float]:
    """Median and 99th percentile."""
    return {"p50_ms": round(percentile(found, 0.5), 2), "p99_ms": round(percentile(found, 0.99), 2)}


def beside_runs(measured: Measured, cells: list[Callable[[], object]], name: str) -> dict[str, Any]:
    """Cells and empty runs by turns."""
    runs, found = [], []
    for cell in cells:
        runs.append(taken(measured.run))
        found.append(taken(cell))
    more = percentile(found, 0.5) - percentile(runs, 0.5)
    return {name: times(found), "empty_run": times(runs), "p50_more_ms": round(more, 2)}


def parked(program: Path, workers: int, form: Form, codes: list[str]) -> dict[str, Any]:
    """Disk and memory of parked sessions, and the resume of a random one."""
    chance = random.Random(1)
    with serving(program, workers, form, warm=1) as measured:
        measured.run()
        before = measured.memory()
        began = time.perf_counter()
        sessions = measured.make(codes)
        seconds = time.perf_counter() - began
        after = measured.memory()
        disk = measured.disk(len(sessions))
        picked = [chance.choice(list(sessions)) for _ in range(form.calls)]
        cells = [lambda id=id: measured.cell("1", id) for id in picked]
        resumes = measured.resumes()
        times_of_cells = beside_runs(measured, cells, "cell")
        return {
            **disk,
            **measured.resume_since(resumes),
            "not_kept": len(codes) - len(sessions),
            "bytes_of": by_kind(measured, sessions),
            "seconds_to_make": round(seconds, 1),
            "memory_before": before,
            "memory_after": after,
            "resume_of_a_random_one": times_of_cells,
        }


def small(program: Path, workers: int, form: Form) -> dict[str, Any]:
    """Parked sessions of small users of pandas."""
    return parked(program, workers, form, [SMALL] * form.sessions)


def mixed(program: Path, workers: int, form: Form) -> dict[str, Any]:
    """Parked sessions of the mix."""
    return parked(program, workers, form, mix(form.sessions))


def by_kind(measured: Measured, sessions: dict[str, str]) -> dict[str, int]:
    """Bytes of the state after the first cell of one session of each kind."""
    names = {SMALL: "small", MODEL: "model", PLOT: "plot", FRAME: "frame"}
    first = {names[code]: id for id, code in reversed(sessions.items())}
    return {
        name: measured.ask("GET", f"/{id}")["checkpoints"][0]["bytes"] for name, id in first.items()
    }


def kept(program: Path, workers: int, form: Form) -> dict[str, Any]:
    """Memory of interpreters that workers keep, and the cell of a kept one beside an empty run."""
    with serving(program, workers, form, warm=form.kept) as measured:
        measured.run()
        before = measured.memory()
        sessions = list(measured.make([SMALL] * form.kept))
        after = measured.memory()
        more = after["workers_mib"] - before["workers_mib"]
        warm = [id for id in sessions if measured.ask("GET", f"/{id}")["is_warm"]]
        last = sessions[-1]
        measured.cell("1", last)
        cells = [lambda: measured.cell("1", last)] * form.calls
        chance = random.Random(1)
        picked = [chance.choice(warm or sessions) for _ in range(form.calls)]
        others = [lambda id=id: measured.cell("1", id) for id in picked]
        resumes = measured.resumes()
        return {
            "asked_for": form.kept,
            "warm": len(warm),
            "workers": len(measured.server.workers()),
            "memory_before": before,
            "memory_after": after,
            "workers_mib_each": round(more / max(form.kept, 1), 2),
            "mb_for_300": round(300 * more / max(form.kept, 1) * (1 << 20) / 1e6, 1),
            "cell_of_a_kept_session": beside_runs(measured, cells, "cell"),
            "cell_of_a_random_one": beside_runs(measured, others, "cell"),
            # A kept session that is used in another process meanwhile is resumed.
            **measured.resume_since(resumes),
        }


def forks(program: Path, workers: int, form: Form) -> dict[str, Any]:
    """Forks of a session with pandas until all have answered, and many sessions made at once."""
    with serving(program, workers, form, warm=8) as measured:
        session = measured.cell(SMALL, "new")
        began = time.perf_counter()
        made = measured.ask("POST", f"/{session}/fork", {"count": FORKS})["forks"]
        forked = time.perf_counter()
        at_once(measured, "int(totals.sum())", [fork["id"] for fork in made])
        answered = time.perf_counter()
        measured.close([fork["id"] for fork in made])
        first = at_once(measured, "1 + 1", ["new"] * form.at_once)
        return {
            "forks": FORKS,
            "forked_ms": round((forked - began) * 1e3, 1),
            "forked_ms_each": round((forked - began) * 1e3 / FORKS, 3),
            "all_answered_ms": round((answered - began) * 1e3, 1),
            "made_at_once": {"sessions": form.at_once, **first},
        }


def array(program: Path, workers: int, form: Form) -> dict[str, Any]:
    """The resume of a session with a large array. Another session takes its place before each."""
    with serving(program, workers, form, warm=1) as measured:
        large, other = measured.cell(ARRAY, "new"), measured.cell("1", "new")
        found = []
        resumes = measured.resumes()
        for _ in range(max(form.calls // 10, 3)):
            measured.cell("1", other)
            before = measured.resumes()
            found.append((taken(lambda: measured.cell("len(array)", large)), before, measured.resumes()))
        seconds = [after[0] - before[0] for _, before, after in found if after[1] > before[1]]
        return {
            **times([cell for cell, _, _ in found]),
            "resumes": measured.resumes()[1] - resumes[1],
            "resume_by_the_server_ms": round(1e3 * sum(seconds) / max(len(seconds), 1), 3),
        }


def interrupts(program: Path, workers: int, form: Form) -> dict[str, Any]:
    """The time from an interrupt of a cell that computes to the answer of that cell."""
    with serving(program, workers, form, warm=8) as measured:
        session = measured.cell("count = 0", "new")
        found, states = [], []
        for _ in range(max(form.calls // 10, 3)):
            ended: list[tuple[float, str]] = []
            thread = threading.Thread(target=lambda ended=ended: ended.append(spun(measured, session)))
            thread.start()
            await_running(measured, session)
            began = time.perf_counter()
            measured.ask("POST", f"/{session}/interrupt", {})
            thread.join()
            (at, state), = ended
            found.append((at - began) * 1e3)
            states.append(state)
        return {**times(found), "kept": states.count("kept"), "of": len(states)}


def spun(measured: Measured, session: str) -> tuple[float, str]:
    """A cell that computes until it is interrupted: when it was answered, and what became of it."""
    client = measured.server.client()
    code = "while True: count += 1"
    result = client.call("run_code", {"language": "python", "code": code, "session": session})
    at = time.perf_counter()
    client.close()
    return at, result["session"]["state"]


def await_running(measured: Measured, session: str) -> None:
    """Waits until a cell runs, and a little longer, so that it has begun its loop."""
    last = time.monotonic() + 60
    while measured.ask("GET", f"/{session}").get("run_id") is None:
        if time.monotonic() > last:
            raise RuntimeError("the cell does not run")
        time.sleep(0.01)
    time.sleep(0.5)


def at_once(measured: Measured, code: str, sessions: list[str]) -> dict[str, float]:
    """One cell in each session, all at the same time."""
    found: list[float] = []
    wrong: list[str] = []

    def call(session: str) -> None:
        client = measured.server.client()
        try:
            found.append(taken(lambda: measured.cell(code, session, client)))
        except Exception as fault:  # every failure is a finding
            wrong.append(repr(fault)[:300])
        finally:
            client.close()

    threads = [threading.Thread(target=call, args=(session,)) for session in sessions]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise RuntimeError(f"{len(wrong)} of {len(sessions)} cells failed: {wrong[0]}")
    return {**times(found), "all_ms": round((time.perf_counter() - began) * 1e3, 1)}


PARTS: dict[str, Callable[[Path, int, Form], dict[str, Any]]] = {
    "forks": forks,
    "interrupts": interrupts,
    "array": array,
    "kept": kept,
    "small": small,
    "mix": mixed,
}
"""What can be measured, in the order in which it is."""


def measure(program: Path, workers: int, form: Form, parts: Sequence[str]) -> dict[str, Any]:
    """The parts, one server after the other. What is found is also told as soon as it is known."""
    found: dict[str, Any] = {}
    for name, part in PARTS.items():
        if name in parts:
            found[name] = part(program, workers, form)
            print(json.dumps({name: found[name]}), file=sys.stderr, flush=True)
    found["bars"] = [dict(zip(("what", "bar", "measured", "is"), row)) for row in session_bars.rows(found)]
    return found
