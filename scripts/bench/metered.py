"""Processor time of runs that count their instructions, as a multiple of the time without."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import served
from bench import figures

WORKLOADS = Path(__file__).parent / "workloads"
PROGRAMS = (
    ("pandas group-by", "pandas_group_by"),
    ("loop", "cpu_loop"),
    ("regex", "cpu_regex"),
    ("dict", "cpu_dict"),
    ("fib", "cpu_fib"),
    ("json", "cpu_json"),
    ("sort", "cpu_sort"),
    ("matrix product, sine and sort with NumPy", "numpy_product"),
    ("empty", "empty"),
)
PLENTY = 1 << 50
"""Fuel that no program uses up."""


def measured(program: Path, rounds: int) -> str:
    """The table: the least time of each program, with and without, in runs that take turns."""
    subprocess.run([program, "engine", "install", "--metered"], check=True)
    rows, ratios = [], []
    with served.Server(program, "--workers", "1") as server:
        client = server.client()
        for name, workload in PROGRAMS:
            code = (WORKLOADS / f"{workload}.py").read_text()
            timed = [(cpu(client, code), cpu(client, code, PLENTY)) for _ in range(rounds)]
            without, with_fuel = (min(times) for times in zip(*timed[1:], strict=True))
            ratios.append(with_fuel / without)
            rows.append([name, figures.short(without / 1000), f"{ratios[-1]:.2f}"])
            print(*rows[-1], sep="  ", file=sys.stderr, flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    rows.append(["geometric mean", "", f"{mean:.2f}"])
    return figures.table(["program", "ms without", "with"], rows)


def cpu(client: served.Client, code: str, fuel: int | None = None) -> int:
    """The processor time of a run in microseconds, as its record has it."""
    limits = {"timeout_ms": 60_000} | ({"fuel": fuel} if fuel else {})
    result = client.run(code, {}, limits=limits)
    if result["status"] != "completed":
        raise SystemExit(f"a program failed: {result}")
    _, record = client.get(f"/v1/runs/{result['run_id']}")
    return int(record["cpu_us"])
