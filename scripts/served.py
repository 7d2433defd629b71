"""A server of its own for a script: finds or builds the program, starts it, calls it, ends it.

Needs nothing but Python's standard library.
"""

import contextlib
import http.client
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent


class Refused(Exception):
    """The server answered with a JSON-RPC error."""

    def __init__(self, error):
        super().__init__(f"{error['data'].get('kind')}: {error['message']}")
        self.kind = error["data"].get("kind")


def add_options(parser):
    """The options that choose a program."""
    parser.add_argument(
        "--wardian",
        metavar="FILE",
        help="the program; without it release/wardian or debug/wardian of CARGO_TARGET_DIR (or of "
        "`target`), whichever is newer, or one that is built first",
    )


def named_program():
    """The program that WARDIAN names, or `target/debug/wardian`. Ends the script if it is not there."""
    program = pathlib.Path(os.environ.get("WARDIAN", REPOSITORY / "target/debug/wardian")).resolve()
    if not program.exists():
        raise SystemExit(f"there is no {program}: build it, or name another with WARDIAN")
    return program


def find_program(chosen):
    """The program to start."""
    if chosen:
        return pathlib.Path(chosen).resolve()
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or REPOSITORY / "target")
    built = [target / profile / "wardian" for profile in ("release", "debug")]
    there = [program for program in built if program.exists()]
    if there:
        return max(there, key=lambda program: program.stat().st_mtime)
    subprocess.run(["cargo", "build", "--locked", "--release"], cwd=REPOSITORY, check=True)
    return built[0]


def forget_settings():
    """Takes Wardian's settings from this process and those that it starts, but for the cache that is named.

    What a script measures or proves must not depend on the settings of whoever runs it.
    """
    for name in [name for name in os.environ if name.startswith("WARDIAN_") and name != "WARDIAN_CACHE_DIR"]:
        del os.environ[name]
    # An empty file instead of the user's.
    os.environ["WARDIAN_CONFIG"] = os.devnull


forget_settings()


class Server:
    """A running server with an empty data folder, or with `data`; a context manager.

    `environment` replaces variables, `before` is a command that starts the program, and `start`
    has further arguments of `subprocess.Popen`.
    """

    def __init__(self, program, *arguments, data=None, environment=None, before=(), **start):
        self._killed = False
        self._folder = tempfile.TemporaryDirectory(prefix="wardian-")
        self.folder = pathlib.Path(self._folder.name)
        self.log = self.folder / "log"
        command = [*before, program, "serve", "--listen", "127.0.0.1:0", *arguments]
        if "user" in start:
            os.chown(self.folder, start["user"], start["user"])
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, "--data-dir", data or self.folder / "data"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, **(environment or {})},
                **start,
            )
        line = self.process.stdout.readline()
        if "http://" not in line:
            raise SystemExit(f"the server does not start:\n{self.log.read_text()}")
        self.address = line.strip().rpartition("http://")[2]

    def client(self, key=None):
        """A client with a connection of its own, for one thread."""
        return Client(self.address, key)

    def workers(self):
        """The processes in which guests run."""
        return children_of(self.process.pid)

    def stop(self):
        """Ends the server as an operator does; an error unless it ends well."""
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        if status != 0:
            raise RuntimeError(f"the server ended with {status}:\n{self.log.read_text()[-4000:]}")

    def was_killed(self):
        """Says that the server was killed on purpose: nothing has to be stopped."""
        self._killed = True

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if self._killed:
                self.process.stdout.close()
            elif kind is None:
                self.stop()
            else:
                self.process.kill()
                self.process.wait()
        finally:
            self._folder.cleanup()


class Client:
    """Calls methods over one connection that is kept open."""

    def __init__(self, address, key=None):
        self._connection = http.client.HTTPConnection(address, timeout=600)
        self.key = key
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}

    def call(self, method, params):
        """The result of a call."""
        answer = json.loads(self.post(method, params))
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["result"]

    def post(self, method, params):
        """The body of the answer to a call."""
        self._send(method, params)
        return self._connection.getresponse().read()

    def run(self, code, args, **params):
        """The result of a run of code."""
        return self.call("run_code", {"language": "python", "code": code, "args": args, **params})

    def hang_up_on(self, code, args, seconds, **params):
        """Starts a run of code and closes the connection soon after."""
        self._send("run_code", {"language": "python", "code": code, "args": args, **params})
        time.sleep(seconds)
        self._connection.close()

    def get(self, path):
        """Status and JSON of a path."""
        status, body = self.request("GET", path)
        return status, json.loads(body)

    def request(self, method, path, body=None, headers=None):
        """Status and body of the answer to a request."""
        self._connection.request(method, path, body, {**self._headers, **(headers or {})})
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def close(self):
        """Closes the connection; the next call opens another."""
        self._connection.close()

    def _send(self, method, params):
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        headers = {"Content-Type": "application/json", **self._headers}
        self._connection.request("POST", "/rpc", json.dumps(call), headers)


def output_of(client, result):
    """What a completed run returned, also where it was too large to be part of the result."""
    output = result["output"]
    if not result["output_truncated"]:
        return output
    blob = client.call("read_blob", {"blob_id": output["blob_id"], "mode": "full"})
    return json.loads(blob["content"])


def end_of(result):
    """`completed`, or the type of the error."""
    return "completed" if result["status"] == "completed" else result["error"]["type"]


def children_of(parent):
    """Numbers of the processes that this one has started and that live."""
    found = []
    for entry in os.scandir("/proc"):
        # A process may end while it is looked at.
        with contextlib.suppress(OSError):
            if entry.name.isdigit():
                stat = pathlib.Path(entry.path, "stat").read_text()
                state, ppid = stat.rpartition(")")[2].split()[:2]
                if int(ppid) == parent and state != "Z":
                    found.append(int(entry.name))
    return found
