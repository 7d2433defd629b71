"""A thousand clients that leave while their runs wait, compute, sleep or answer.

None of them may cost a worker, and the next run has to be as quick as before.
"""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path

from bench import tenants
from bench.closed_loop import connect, drive, request, send
from bench.overload import middle

CLIENTS = 1_000
AT_ONCE = 50
PROGRAMS = [
    "def main(args):\n    return 1\n",
    "import time\ndef main(args):\n    time.sleep(20)\n",
    "def main(args):\n    while True: pass\n",
    "import time\ndef main(args):\n    for n in range(2000):\n        print(n); time.sleep(0.01)\n",
    "def main(args):\n    return 'x' * 3_000_000\n",
]


def measure(program: Path, workers: int) -> dict[str, float | int]:
    """What the server has and does before and after."""
    with tenants.serving(program, 1, "--log-level=warn", "--workers", str(workers)) as (server, (key,)):
        drive(server.address, workers, 1.0, key=key)
        quiet = drive(server.address, 1, 2.0, key=key).latencies_ms
        before, held = set(server.workers()), holdings(server.process.pid)
        calls = [request(server.address, program, key) for program in PROGRAMS]
        numbers = iter(range(CLIENTS))
        lock = threading.Lock()

        def leave() -> None:
            chance = random.Random(threading.get_ident())
            while True:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    return
                client = connect(server.address)
                send(client, calls[number % len(calls)])
                time.sleep(chance.choice([0.0, 0.01, 0.1, 1.0]) * chance.random())
                client.connection.close()

        threads = [threading.Thread(target=leave) for _ in range(AT_ONCE)]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        gone = time.perf_counter()
        first = drive(server.address, 1, 0.2, key=key).latencies_ms
        normal = time.perf_counter()
        afterwards = drive(server.address, 1, 2.0, key=key).latencies_ms
        time.sleep(1)
        after, holds = set(server.workers()), holdings(server.process.pid)
    return {
        "clients_that_left": CLIENTS,
        "seconds": round(gone - began, 2),
        "first_run_after_ms": round(first[0], 2) if first else float("inf"),
        "seconds_until_0.2_s_of_runs_were_done": round(normal - gone, 2),
        "before_p50_ms": middle(quiet, 0.5),
        "after_p50_ms": middle(afterwards, 0.5),
        "workers_lost": len(before - after),
        "more_descriptors": holds[0] - held[0],
        "more_threads": holds[1] - held[1],
    }


def holdings(process: int) -> tuple[int, int]:
    """Open descriptors and threads of a process."""
    return len(os.listdir(f"/proc/{process}/fd")), len(os.listdir(f"/proc/{process}/task"))
