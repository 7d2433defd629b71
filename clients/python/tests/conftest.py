"""A real server for all tests."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import wardian

REPOSITORY = Path(__file__).resolve().parents[3]


SERVER_OF_TOOLS = """
import json, sys

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOL = {"name": "erase", "inputSchema": NUMBER, "annotations": {"destructiveHint": True}}

for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    if method == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {}}
    elif method == "tools/list":
        result = {"tools": [TOOL]}
    elif method == "tools/call":
        result = {"structuredContent": {"erased": params["arguments"]["n"]}}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def wait_for_no_session(client: wardian.Client) -> None:
    """Waits until the server has no session. That of a stream is closed after its end."""
    end = time.monotonic() + 10
    while client.sessions().items:
        assert time.monotonic() < end, "a session is left"
        time.sleep(0.05)


@pytest.fixture(scope="session")
def server() -> Iterator[wardian.LocalServer]:
    """A server of this suite's own."""
    with wardian.LocalServer() as server:
        yield server


@pytest.fixture
def client(server: wardian.LocalServer) -> Iterator[wardian.Client]:
    """A client of the server."""
    with wardian.Client(server.url) as client:
        yield client


@pytest.fixture(scope="module")
def tool_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[wardian.LocalServer]:
    """A server with a server of tools."""
    program = tmp_path_factory.mktemp("tools") / "server.py"
    program.write_text(SERVER_OF_TOOLS)
    command = json.dumps([sys.executable, str(program)])
    settings = {"tools": f'{{ py = {{ command = {command}, code = ["*"] }} }}'}
    with wardian.LocalServer(settings=settings) as server:
        yield server


@pytest.fixture(scope="session")
def kernels(
    server: wardian.LocalServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """The folder in which Jupyter finds the kernel `wardian`, but no files of the user."""
    prefix = tmp_path_factory.mktemp("jupyter")
    with tempfile.TemporaryDirectory() as runtime, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(REPOSITORY / "clients" / "python" / "src"))
        patch.setenv("JUPYTER_PATH", str(prefix / "share" / "jupyter"))
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR"):
            patch.setenv(name, str(prefix / name))
        # The paths of sockets must be short.
        patch.setenv("JUPYTER_RUNTIME_DIR", runtime)
        install = [sys.executable, "-m", "wardian.jupyter", "install", "--prefix", str(prefix)]
        subprocess.run([*install, "--url", server.url], check=True)
        yield prefix / "share" / "jupyter" / "kernels"
