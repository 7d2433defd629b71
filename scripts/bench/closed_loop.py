"""Closed-loop clients over HTTP: each sends its next request when it has the answer to the last.

All clients live on one thread and the requests are bytes made in advance: on a small machine the
clients compete with the server, so they must cost little. Every answer is read to its end and
must say that the run completed.
"""

from __future__ import annotations

import json
import selectors
import socket
import time
from dataclasses import dataclass, field

CODE = "def main(args):\n    return None\n"
COMPLETED = b'"status":"completed"'


def request(address: str, code: str, key: str | None = None) -> bytes:
    """The bytes of one `run_code` call."""
    params = {"language": "python", "code": code, "args": {}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "run_code", "params": params}
    body = json.dumps(message).encode()
    authorized = f"Authorization: Bearer {key}\r\n" if key else ""
    head = (
        f"POST /rpc HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n"
        f"{authorized}Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


@dataclass
class Client:
    """A connection, and what has arrived of its answer."""

    connection: socket.socket
    sent: float = 0.0
    arrived: bytes = b""


@dataclass
class Load:
    """What came of it."""

    seconds: float
    latencies_ms: list[float] = field(default_factory=list)
    errors: int = 0
    client_cpu: float = 0.0
    """Seconds of processor time that the clients took."""

    @property
    def throughput(self) -> float:
        """Runs in a second."""
        return len(self.latencies_ms) / self.seconds


def connect(address: str) -> Client:
    """A client whose small requests are not held back."""
    host, _, port = address.rpartition(":")
    connection = socket.create_connection((host, int(port)), timeout=60)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return Client(connection)


def body_of(answer: bytes) -> bytes | None:
    """The body, once all of it is there."""
    head, found, body = answer.partition(b"\r\n\r\n")
    if not found:
        return None
    length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
    return body if len(body) >= int(length) else None


def drive(
    address: str, clients: int, seconds: float, code: str = CODE, key: str | None = None
) -> Load:
    """Keeps `clients` calls under way for so many seconds."""
    call = request(address, code, key)
    load = Load(seconds)
    with selectors.DefaultSelector() as waiting:
        for _ in range(clients):
            client = connect(address)
            waiting.register(client.connection, selectors.EVENT_READ, client)
        cpu = time.process_time()
        began = time.perf_counter()
        for key in list(waiting.get_map().values()):
            send(key.data, call)
        while (now := time.perf_counter()) < began + seconds:
            for key, _ in waiting.select(timeout=began + seconds - now):
                if not receive(key.data, load):
                    waiting.unregister(key.fileobj)
                    key.data.connection.close()
                    fresh = connect(address)
                    waiting.register(fresh.connection, selectors.EVENT_READ, fresh)
                    send(fresh, call)
                elif not key.data.arrived:
                    send(key.data, call)
        load.seconds = time.perf_counter() - began
        load.client_cpu = time.process_time() - cpu
        for key in list(waiting.get_map().values()):
            key.data.connection.close()
    return load


def send(client: Client, call: bytes) -> None:
    """Begins the next call of a client."""
    client.sent = time.perf_counter()
    client.connection.sendall(call)


def receive(client: Client, load: Load) -> bool:
    """Takes what has arrived, and counts an answer that is complete; false if the server left."""
    try:
        arrived = client.connection.recv(1 << 18)
    except OSError:
        arrived = b""
    if not arrived:
        load.errors += 1
        return False
    client.arrived += arrived
    body = body_of(client.arrived)
    if body is not None:
        if client.arrived.startswith(b"HTTP/1.1 200") and COMPLETED in body:
            load.latencies_ms.append((time.perf_counter() - client.sent) * 1e3)
        else:
            load.errors += 1
        client.arrived = b""
    return True
