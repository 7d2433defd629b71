"""Published MCP servers for scripts: their pinned packages, the commands that start them, and a client."""

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "tests" / "tool-servers"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "wardian-tool-servers"
OLDEST_PYTHON = (3, 11)

# `older` has a server that was written for the first version of the protocol's library.
ENVIRONMENTS = ["servers", "older"]


def prepare(environments=ENVIRONMENTS):
    """Fetches the packages that the files in `tests/tool-servers` pin, each file into an environment of its own."""
    if sys.version_info < OLDEST_PYTHON:
        sys.exit(f"the servers need Python {'.'.join(map(str, OLDEST_PYTHON))}")
    for name in environments:
        requirements, folder = HERE / f"{name}.txt", CACHE / name
        pinned = hashlib.sha256(requirements.read_bytes()).hexdigest()
        pinned += f" {sys.version_info.major}.{sys.version_info.minor}"
        mark = folder / "pinned"
        if mark.exists() and mark.read_text() == pinned:
            continue
        print(f"-- fetch the packages of {requirements.relative_to(ROOT)}", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        subprocess.run(
            [
                *(folder / "bin" / "python3", "-m", "pip", "install", "--quiet", "--require-hashes"),
                *("--only-binary", ":all:", "--no-input", "--disable-pip-version-check", "-r", requirements),
            ],
            check=True,
        )
        mark.write_text(pinned)


def commands(folder):
    """The commands of all servers by their names. `folder` is where they may read and write."""
    servers, older = CACHE / "servers" / "bin", CACHE / "older" / "bin"
    found = {
        "excel": [servers / "excel-mcp-server", "stdio", "--allow-dir", folder],
        "fetch": [servers / "mcp-server-fetch", "--allow-private-ips", "--ignore-robots-txt"],
        "git": [servers / "mcp-server-git"],
        "sqlite": [older / "mcp-server-sqlite", "--db-path", Path(folder) / "data.sqlite"],
        "time": [servers / "mcp-server-time", "--local-timezone", "UTC"],
    }
    return {name: [str(part) for part in command] for name, command in found.items()}


def client_file(folder, servers):
    """A file with the servers, as clients of the protocol have it."""
    entries = {name: {"command": command[0], "args": command[1:]} for name, command in servers.items()}
    file = Path(folder) / "mcp.json"
    file.write_text(json.dumps({"mcpServers": entries}))
    return file


class Session:
    """The published Python client in front of a program; a context manager. `start` has further arguments of
    `subprocess.Popen`."""

    def __init__(self, command, **start):
        python = CACHE / "servers" / "bin" / "python3"
        self.process = subprocess.Popen(
            [python, HERE / "client.py", *map(str, command)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            **start,
        )

    def send(self, order):
        """Sends an order, whose answer `answer` waits for."""
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("the client has ended")
        return json.loads(line)

    def tools(self):
        """The tools as the client gets them."""
        self.send({"list": True})
        return self.answer()

    def call(self, tool, **arguments):
        self.send({"tool": tool, "arguments": arguments})
        return self.answer()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(30)
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
