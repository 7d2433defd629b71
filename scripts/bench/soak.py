"""Many runs of all sorts, of ten tenants at once; what the server holds more of in the end.

Every answer is checked. What the server holds is noted at even distances, and a straight line is
laid through the notes of each quantity after the first fifth, in which pools and caches fill up.
"""

from __future__ import annotations

import contextlib
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import served
from bench import tenants
from bench.disconnects import holdings
from bench.slow_clients import resident

TENANTS = 10
NOTES = 40
MAX_SLOPE = 1.0
"""MiB for 10,000 runs."""

PANDAS = """
import pandas as pd
def main(args):
    table = pd.DataFrame({"k": [n % 7 for n in range(500)], "v": range(500)})
    return int(table.groupby("k").v.sum().sum()) + args["n"]
"""
FILES = """
import os
from runtime import blobs
def main(args):
    with open("/workspace/a.txt", "w") as file:
        file.write("x" * args["n"])
    return [os.path.getsize("/workspace/a.txt"), blobs.write_text(f"{args['n']} of a run")]
"""


class Wrong(Exception):
    """An answer that is not the right one."""


@dataclass
class Caller:
    """A client of one tenant, and its sorts of calls."""

    client: served.Client
    chance: random.Random
    address: str
    key: str

    def ended(self, expected: str, code: str, args: dict[str, object], **params: object) -> object:
        """The result of a run that has to end in this way."""
        result = self.client.run(code, args, **params)
        if served.end_of(result) != expected:
            raise Wrong(f"{served.end_of(result)} instead of {expected}: {result}")
        return result

    def returns(self, right: object, code: str, args: dict[str, object], **params: object) -> None:
        """Runs a program that has to return this."""
        result = self.ended("completed", code, args, **params)
        output = served.output_of(self.client, result)
        if output != {"result": right}:
            raise Wrong(f"{str(output)[:200]} instead of {str(right)[:200]}")

    def empty(self, n: int) -> None:
        self.returns(n, "def main(args):\n    return args['n']\n", {"n": n})

    def pandas(self, n: int) -> None:
        self.returns(124_750 + n, PANDAS, {"n": n})

    def skill(self, n: int) -> None:
        params = {"name": "hello.world", "args": {"name": f"n{n}"}}
        result = self.client.call("execute_skill", params)
        if f"n{n}" not in json.dumps(result["output"]):
            raise Wrong(f"{result}")

    def discovery(self, n: int) -> None:
        method = self.chance.choice(["list_skills", "describe_skill", "load_skills_protocol_guide"])
        params = {"name": "data.csv.profile"} if method == "describe_skill" else {}
        self.client.call(method, params)

    def failure(self, n: int) -> None:
        self.ended("ZeroDivisionError", "def main(args):\n    return 1 / 0\n", {})

    def large(self, n: int) -> None:
        size = self.chance.choice([70_000, 300_000, 2_000_000])
        code = "def main(args):\n    return 'x' * args['size']\n"
        result = self.ended("completed", code, {"size": size})
        assert isinstance(result, dict)
        path = f"/v1/blobs/{result['output']['blob_id']}"
        _, there = self.client.request("GET", path)
        # Two calls may return the same, and the other one has deleted it.
        if len(there) < size and self.client.request("GET", path)[0] != 404:
            raise Wrong(f"{len(there)} bytes were returned, not {size}")
        self.client.request("DELETE", path)

    def log(self, n: int) -> None:
        code = "def main(args):\n    for n in range(3000): print(n, 'x' * 40)\n    return 'done'\n"
        self.returns("done", code, {})

    def files(self, n: int) -> None:
        result = self.ended("completed", FILES, {"n": n})
        assert isinstance(result, dict)
        size, blob = result["output"]["result"]
        code = "from runtime import blobs\ndef main(args):\n    return blobs.read_text(args['b'])\n"
        self.returns(f"{n} of a run", code, {"b": blob}, input_blobs=[blob])
        status, _ = self.client.request("DELETE", f"/v1/blobs/{blob}")
        if size != n or status not in (204, 404):
            raise Wrong(f"{size} bytes, status {status}")

    def upload(self, n: int) -> None:
        content = self.chance.randbytes(self.chance.choice([0, 900, 200_000]))
        kind = {"Content-Type": "application/octet-stream"}
        status, body = self.client.request("PUT", "/v1/blobs", content, kind)
        if status not in (200, 201):
            raise Wrong(f"an upload was answered with {status}: {body[:200]!r}")
        blob = json.loads(body)["blob_id"]
        status, there = self.client.request("GET", f"/v1/blobs/{blob}")
        # Another call may have stored and deleted an empty one meanwhile.
        if content and (status != 200 or there != content):
            raise Wrong(f"a download was answered with {status}, {len(there)} bytes")
        self.client.request("DELETE", f"/v1/blobs/{blob}")

    def timeout(self, n: int) -> None:
        self.ended("Timeout", "while True: pass\n", {}, limits={"timeout_ms": 60})

    def memory(self, n: int) -> None:
        code = "def main(args):\n    return len(bytearray(3 << 30))\n"
        result = self.client.run(code, {})
        if served.end_of(result) == "completed":
            raise Wrong(f"{result}")

    def deep(self, n: int) -> None:
        code = "def f(n): return f(n + 1)\ndef main(args): return f(0)\n"
        self.ended("RecursionError", code, {})

    def leave(self, n: int) -> None:
        code = "import time\ndef main(args):\n    time.sleep(5)\n"
        leaving = served.Client(self.address, self.key)
        leaving.hang_up_on(code, {}, self.chance.random() / 50)

    def events(self, n: int) -> None:
        params = {"language": "python", "code": "print('a')\nprint('b')\n", "args": {}}
        call = json.dumps({"jsonrpc": "2.0", "id": n, "method": "run_code", "params": params})
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        status, body = self.client.request("POST", "/rpc", call, headers)
        if status != 200 or b'"status":"completed"' not in body:
            raise Wrong(f"{status}: {body[:300]!r}")

    def records(self, n: int) -> None:
        status, found = self.client.get("/v1/runs?limit=3")
        if status != 200 or len(found["runs"]) > 3:
            raise Wrong(f"{status}: {str(found)[:200]}")

    def bad(self, n: int) -> None:
        with contextlib.suppress(served.Refused):
            self.client.call("run_code", {"language": "cobol", "code": ""})
            raise Wrong("a wrong call was accepted")


MIX: dict[str, int] = {
    "empty": 42, "pandas": 15, "skill": 8, "failure": 6, "files": 5, "discovery": 5, "upload": 4,
    "large": 3, "log": 3, "events": 3, "timeout": 1, "memory": 1, "deep": 1, "leave": 1,
    "records": 1, "bad": 1,
}  # fmt: skip
"""Sorts of calls, and how many of a hundred they are."""


@dataclass
class Soak:
    """All calls, and what was noted meanwhile."""

    server: served.Server
    data: Path
    runs: int
    lock: threading.Lock = field(default_factory=threading.Lock)
    done: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    notes: list[dict[str, float]] = field(default_factory=list)

    def work(self, number: int, key: str) -> None:
        """Calls as one tenant until all calls are done."""
        chance = random.Random(number)
        caller = Caller(self.server.client(key), chance, self.server.address, key)
        sorts, weights = list(MIX), list(MIX.values())
        while self.done < self.runs and len(self.wrong) < 50:
            sort = chance.choices(sorts, weights)[0]
            call: Callable[[int], None] = getattr(caller, sort)
            try:
                call(chance.randrange(1, 1_000))
            except Exception as fault:  # every failure is a finding
                with self.lock:
                    self.wrong.append(f"{sort}: {fault!r}"[:500])
                caller.client.close()
            with self.lock:
                self.done += 1
                self.counts[sort] += 1

    def watch(self) -> None:
        """Notes what the server holds, at even distances."""
        for step in range(NOTES + 1):
            while self.done < step * self.runs / NOTES and len(self.wrong) < 50:
                time.sleep(0.05)
            self.notes.append(self.note())
            told = ", ".join(f"{name} {value:,}" for name, value in self.notes[-1].items())
            print(f"{told}, wrong {len(self.wrong)}", file=sys.stderr, flush=True)

    def note(self) -> dict[str, float]:
        """What the server holds now."""
        process = self.server.process.pid
        descriptors, threads = holdings(process)
        workers = []
        for worker in self.server.workers():
            # A worker may end while it is looked at.
            with contextlib.suppress(OSError, StopIteration):
                workers.append(resident(worker))
        records = sum(file.stat().st_size for file in self.data.glob("records.db*"))
        return {
            "runs": self.done,
            "gateway_mib": resident(process),
            "mean_worker_mib": round(sum(workers) / max(len(workers), 1), 1),
            "workers": len(workers),
            "descriptors": descriptors,
            "threads": threads,
            "records_mib": round(records / 2**20, 2),
            "other_disk_mib": round(disk(self.data) - records / 2**20, 2),
        }


def disk(folder: Path) -> float:
    """The length of all files below a folder, in MiB."""
    total = 0
    for file in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += file.stat().st_size if file.is_file() else 0
    return total / 2**20


def slope(notes: list[dict[str, float]], name: str) -> float:
    """By how much a quantity grows in 10,000 runs, by least squares."""
    later = notes[len(notes) // 5 :]
    xs, ys = [note["runs"] / 10_000 for note in later], [note[name] for note in later]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((at - x) ** 2 for at in xs)
    return round(sum((at - x) * (b - y) for at, b in zip(xs, ys, strict=True)) / spread, 3)


def measure(program: Path, workers: int, runs: int) -> dict[str, object]:
    """Soaks a server."""
    settings = ("--log-level=warn", "--workers", str(workers), "--set", "records.max_count=500")
    with contextlib.ExitStack() as stack:
        folder = tempfile.TemporaryDirectory(prefix="wardian-")
        data = Path(stack.enter_context(folder))
        opened = tenants.serving(program, TENANTS, *settings, data=data)
        server, keys = stack.enter_context(opened)
        soak = Soak(server, data, runs)
        began = time.monotonic()
        threads = [
            threading.Thread(target=soak.work, args=(number, key))
            for number, key in enumerate(keys)
        ]
        for thread in threads:
            thread.start()
        soak.watch()
        for thread in threads:
            thread.join()
        seconds = time.monotonic() - began
        time.sleep(5)
        quiet = soak.note()
    slopes = {name: slope(soak.notes, name) for name in soak.notes[0] if name != "runs"}
    return {
        "calls": soak.done,
        "seconds": round(seconds),
        "sorts": dict(soak.counts.most_common()),
        "wrong": len(soak.wrong),
        "first_wrong": soak.wrong[:10],
        "in_the_beginning": soak.notes[0],
        "after_a_fifth": soak.notes[NOTES // 5],
        "in_the_end": soak.notes[-1],
        "after_five_quiet_seconds": quiet,
        "slopes_in_10000_runs": slopes,
        "passed": not soak.wrong
        and slopes["gateway_mib"] < MAX_SLOPE
        and slopes["mean_worker_mib"] < MAX_SLOPE,
    }
