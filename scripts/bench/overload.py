"""Ten times the runs that a server can complete: what it completes, and how it refuses the rest.

Runs arrive at a fixed rate, whether or not earlier ones are answered. Each run computes for some
20 ms, so that the clients need little of the processor beside the server. All clients live on one
thread.
"""

from __future__ import annotations

import selectors
import time
from dataclasses import dataclass, field

from bench.closed_loop import COMPLETED, Client, body_of, connect, drive, request, send

CODE = "def main(args):\n    total = 0\n    for number in range(400_000): total += number\n"
"""Some 20 ms."""

MAX_CONNECTIONS = 900
"""Below the server's limit on connections, beyond which it would close the oldest."""


@dataclass
class Offered:
    """What came of the runs that arrived."""

    seconds: float = 0.0
    completed_ms: list[float] = field(default_factory=list)
    refused_ms: list[float] = field(default_factory=list)
    wrong: int = 0
    """Answers that are neither a completed run nor a refusal with a delay."""
    unsent: int = 0
    """Runs that did not arrive, because every connection was in use."""

    @property
    def goodput(self) -> float:
        """Completed runs in a second."""
        return len(self.completed_ms) / self.seconds


def measure(address: str, clients: int, seconds: float) -> dict[str, float | int]:
    """The peak with few clients, ten times as much, and the time until all is as before."""
    quiet = drive(address, 1, seconds, CODE)
    peak = drive(address, clients, seconds, CODE).throughput
    found = offer(address, 10 * peak, seconds)
    ended = time.perf_counter()
    return {
        "peak_per_second": round(peak, 1),
        "offered_per_second": round(10 * peak, 1),
        "goodput_per_second": round(found.goodput, 1),
        "refused_per_second": round(len(found.refused_ms) / found.seconds, 1),
        "refused_p50_ms": middle(found.refused_ms, 0.5),
        "refused_p99_ms": middle(found.refused_ms, 0.99),
        "wrong_answers": found.wrong,
        "unsent": found.unsent,
        "normal_after_seconds": round(recovery(address, quiet.latencies_ms) - ended, 2),
    }


def offer(address: str, rate: float, seconds: float) -> Offered:
    """Sends `rate` runs in a second. Answers after the end are not counted."""
    call, found = request(address, CODE), Offered()
    idle: list[Client] = []
    used = 0
    with selectors.DefaultSelector() as waiting:
        began = time.perf_counter()
        sent = 0
        while (now := time.perf_counter()) < began + seconds:
            while sent < (now - began) * rate:
                sent += 1
                if not idle and used >= MAX_CONNECTIONS:
                    found.unsent += 1
                    continue
                if not idle:
                    idle.append(connect(address))
                    used += 1
                    waiting.register(idle[-1].connection, selectors.EVENT_READ, idle[-1])
                send(idle.pop(), call)
            for key, _ in waiting.select(timeout=1 / rate):
                if take(key.data, found):
                    idle.append(key.data)
                elif not key.data.arrived:
                    waiting.unregister(key.fileobj)
                    key.data.connection.close()
                    used -= 1
        found.seconds = time.perf_counter() - began
        for key in list(waiting.get_map().values()):
            key.data.connection.close()
    return found


def take(client: Client, found: Offered) -> bool:
    """Takes what has arrived; true once the answer is complete and the connection can be used."""
    try:
        arrived = client.connection.recv(1 << 16)
    except OSError:
        arrived = b""
    if not arrived:
        client.arrived = b""
        return False
    client.arrived += arrived
    body = body_of(client.arrived)
    if body is None:
        return False
    took = (time.perf_counter() - client.sent) * 1e3
    head = client.arrived.partition(b"\r\n\r\n")[0].lower()
    if head.startswith(b"http/1.1 200") and COMPLETED in body:
        found.completed_ms.append(took)
    elif head.split(b" ")[1] in (b"429", b"503") and b"retry-after:" in head:
        found.refused_ms.append(took)
    else:
        found.wrong += 1
    client.arrived = b""
    return b"connection: close" not in head


def recovery(address: str, quiet_ms: list[float]) -> float:
    """Waits until ten runs one after another take no longer than twice the quiet p99; returns when
    the first of them was sent."""
    bound = 2 * middle(quiet_ms, 0.99)
    began, good = time.perf_counter(), 0
    since = began
    while good < 10 and time.perf_counter() < began + 60:
        sent = time.perf_counter()
        good = good + 1 if one_run(address) <= bound else 0
        since = sent if good == 1 else since
    return since if good >= 10 else float("inf")


def one_run(address: str) -> float:
    """How long one run takes; infinite if it is refused."""
    client, found = connect(address), Offered()
    send(client, request(address, CODE))
    while not (found.completed_ms or found.refused_ms or found.wrong):
        take(client, found)
    client.connection.close()
    return found.completed_ms[0] if found.completed_ms else float("inf")


def middle(times: list[float], share: float) -> float:
    """A percentile, or no number."""
    ordered = sorted(times) or [float("nan")]
    return round(ordered[min(int(share * len(ordered)), len(ordered) - 1)], 2)
