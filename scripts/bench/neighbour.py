"""A tenant with one client beside a tenant with hundreds of waiting runs.

The quiet tenant sends one run after another, first alone and then beside the noisy one, in turns.
The noisy tenant lives in a process of its own, so that its answers do not delay the clock of the
quiet one; it still takes processor time from the server.
"""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path

from bench import tenants
from bench.closed_loop import Load, drive
from bench.overload import CODE, middle

WAITING = 500
"""Runs of the noisy tenant that are under way or wait, at every moment."""


def measure(program: Path, workers: int, seconds: float, rounds: int) -> dict[str, float | int]:
    """What the quiet tenant sees without and with its neighbour."""
    settings = ("--log-level=warn", "--workers", str(workers), "--set", f"workers.queue={2 * WAITING}")
    settings += ("--set", f"workers.max={4 * workers}")
    settings += ("--set", "workers.queue_wait=10 min", "--set", "http.max_connections=2000")
    alone: list[float] = []
    beside: list[float] = []
    errors = 0
    noisy_runs = 0.0
    with tenants.serving(program, 2, *settings) as (server, (quiet, noisy)):
        drive(server.address, workers, 1.0, CODE, quiet)
        for _ in range(rounds):
            found = drive(server.address, 1, seconds, CODE, quiet)
            alone += found.latencies_ms
            errors += found.errors
            with multiprocessing.Pool(1) as pool:
                crowd = pool.apply_async(drive_crowd, (server.address, seconds + 3, noisy))
                time.sleep(2)
                found = drive(server.address, 1, seconds, CODE, quiet)
                beside += found.latencies_ms
                errors += found.errors
                there = crowd.get(seconds + 60)
            errors += there.errors
            noisy_runs += there.throughput / rounds
    return {
        "waiting_runs_of_the_neighbour": WAITING,
        "alone_p50_ms": middle(alone, 0.5),
        "alone_p99_ms": middle(alone, 0.99),
        "beside_p50_ms": middle(beside, 0.5),
        "beside_p99_ms": middle(beside, 0.99),
        "p99_ratio": round(middle(beside, 0.99) / middle(alone, 0.99), 2),
        "runs_alone": len(alone),
        "runs_beside": len(beside),
        "neighbour_per_second": round(noisy_runs, 1),
        "errors": errors,
    }


def drive_crowd(address: str, seconds: float, key: str) -> Load:
    """The runs of the noisy tenant; what is under way at the end is given up."""
    return drive(address, WAITING, seconds, CODE, key)
