"""Two thousand clients that are as slow as they can, and one that works.

A third of them send nothing, a third send the head of a request and a third its body, a byte at a
time. A client whose connection the server closes comes again. They have addresses of their own in
the loopback network. The client that works opens a connection for each run.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.synchronize
import resource
import selectors
import socket
import time
from dataclasses import dataclass, field
from pathlib import Path

from bench import tenants
from bench.closed_loop import connect, request, send
from bench.overload import Offered, middle, take

SOCKETS = 2_000
RUN = "def main(args):\n    return 1\n"
PAUSE = 5.0
"""Seconds between two bytes of one client."""


@dataclass
class Slow:
    """A client that takes its time."""

    number: int
    connection: socket.socket
    left: bytes = b""
    """What is still to be sent."""


@dataclass
class Crowd:
    """All slow clients."""

    address: str
    key: str
    clients: dict[int, Slow] = field(default_factory=dict)
    opened: int = 0
    closed: int = 0
    """Connections that the server closed."""
    failed: int = 0
    """Connections that could not be made."""

    def open(self, number: int, waiting: selectors.BaseSelector) -> None:
        """Connects a client, from one of 200 addresses."""
        host, _, port = self.address.rpartition(":")
        source = (f"127.0.{1 + number % 200}.1", 0)
        try:
            made = socket.create_connection((host, int(port)), timeout=5, source_address=source)
        except OSError:
            self.failed += 1
            return
        made.setblocking(False)
        self.opened += 1
        call = request(self.address, RUN + "#" * 5_000, self.key)
        head, _, body = call.partition(b"\r\n\r\n")
        client = Slow(number, made, [b"", call, body][number % 3])
        if number % 3 == 2:
            made.send(head + b"\r\n\r\n")
        self.clients[number] = client
        waiting.register(made, selectors.EVENT_READ, client)

    def step(self, number: int, waiting: selectors.BaseSelector) -> None:
        """Sends one byte of a client, or connects it again."""
        client = self.clients.get(number)
        if client is None:
            self.open(number, waiting)
        elif client.left:
            with contextlib.suppress(OSError):
                client.left = client.left[client.connection.send(client.left[:1]) :]

    def notice(self, client: Slow, waiting: selectors.BaseSelector) -> None:
        """Takes an answer, or the end of a connection."""
        arrived = b""
        with contextlib.suppress(OSError):
            arrived = client.connection.recv(1 << 16)
        if not arrived:
            self.closed += 1
            waiting.unregister(client.connection)
            client.connection.close()
            self.clients.pop(client.number, None)


def stand_about(
    address: str,
    key: str,
    there: multiprocessing.synchronize.Event,
    over: multiprocessing.synchronize.Event,
) -> tuple[int, int, int]:
    """Keeps the slow clients connected; returns connections made, closed by the server, failed."""
    crowd = Crowd(address, key)
    at = 0
    with selectors.DefaultSelector() as waiting:
        while not over.is_set():
            for _ in range(SOCKETS // 100):
                crowd.step(at % SOCKETS, waiting)
                at += 1
            if at >= SOCKETS:
                there.set()
            pause = PAUSE / 100 if there.is_set() else 0.005
            ends = time.perf_counter() + pause
            while (left := ends - time.perf_counter()) > 0:
                for key_, _ in waiting.select(timeout=left):
                    crowd.notice(key_.data, waiting)
        for client in crowd.clients.values():
            client.connection.close()
    return crowd.opened, crowd.closed, crowd.failed


def measure(program: Path, workers: int, seconds: float) -> dict[str, float | int]:
    """What the client that works sees without and with the crowd."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 8_192), hard), hard))
    with tenants.serving(program, 2, "--log-level=warn", "--workers", str(workers)) as (server, (good, slow)):
        call = request(server.address, RUN, good)
        for _ in range(50):
            one_run(server.address, call)
        quiet = runs(server.address, call, seconds)
        before = resident(server.process.pid)
        context = multiprocessing.get_context("fork")
        there, over = context.Event(), context.Event()
        counts = context.Queue()
        crowd = context.Process(
            target=lambda: counts.put(stand_about(server.address, slow, there, over))
        )
        crowd.start()
        there.wait(60)
        beside = runs(server.address, call, seconds)
        during = resident(server.process.pid)
        over.set()
        opened, closed, failed = counts.get(timeout=60)
        crowd.join()
        time.sleep(1)
        afterwards = runs(server.address, call, min(seconds, 2))
        after = resident(server.process.pid)
    return {
        "slow_clients": SOCKETS,
        "connections_made": opened,
        "closed_by_the_server": closed,
        "not_connected": failed,
        "alone_p50_ms": middle(quiet.completed_ms, 0.5),
        "alone_p99_ms": middle(quiet.completed_ms, 0.99),
        "beside_p50_ms": middle(beside.completed_ms, 0.5),
        "beside_p99_ms": middle(beside.completed_ms, 0.99),
        "afterwards_p99_ms": middle(afterwards.completed_ms, 0.99),
        "runs_beside": len(beside.completed_ms),
        "failed_runs_beside": beside.wrong + len(beside.refused_ms),
        "gateway_mib_before": before,
        "gateway_mib_during": during,
        "gateway_mib_after": after,
    }


def runs(address: str, call: bytes, seconds: float) -> Offered:
    """One run after another, each with a connection of its own."""
    found = Offered()
    ends = time.perf_counter() + seconds
    while time.perf_counter() < ends:
        one = one_run(address, call)
        found.completed_ms += one.completed_ms
        found.refused_ms += one.refused_ms
        found.wrong += one.wrong
    return found


def one_run(address: str, call: bytes) -> Offered:
    """What came of one run. The time counts from before the connection is made."""
    found = Offered()
    began = time.perf_counter()
    try:
        client = connect(address)
        send(client, call)
        client.sent = began
        while not take(client, found) and client.arrived:
            pass
        client.connection.close()
    except OSError:
        pass
    if not (found.completed_ms or found.refused_ms):
        found.wrong = 1
    return found


def resident(process: int) -> float:
    """Anonymous memory of a process, in MiB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    found = next(line for line in lines if line.startswith("RssAnon"))
    return round(int(found.split()[1]) / 1024, 1)
