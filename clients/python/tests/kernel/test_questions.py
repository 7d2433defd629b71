"""Calls that need an approval, in a kernel with a real server."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from talk import Message, kernel

import wardian

CODE = """
import tools
try:
    said = await tools.py.erase(n=3)
except tools.ToolError as error:
    said = error.message
said
"""


@pytest.fixture
def kernel_with_tools(
    kernels: Path,
    tool_server: wardian.LocalServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Lets Jupyter find a kernel of the server with tools."""
    install = [sys.executable, "-m", "wardian.jupyter", "install", "--prefix", str(tmp_path)]
    subprocess.run([*install, "--url", tool_server.url], check=True)
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "share" / "jupyter"))


@pytest.mark.usefixtures("kernel_with_tools")
def test_the_user_approves_calls() -> None:
    asked: list[Message] = []
    with kernel() as talk:

        def said(answer: str) -> str:
            def reply(message: Message) -> None:
                asked.append(message["content"])
                talk.client.input(answer)

            ended, outputs = talk.run(CODE, allow_stdin=True, stdin_hook=reply)
            assert ended["status"] == "ok", ended
            return outputs[-1][1]["data"]["text/plain"]

        assert said("y") == "{'erased': 3}"
        assert said("") == said("\x04") == "'the call was not approved: the user has refused it'"
        assert asked == [{"prompt": 'Allow py.erase({"n": 3})? [y/N] ', "password": False}] * 3
        _, outputs = talk.run(CODE, allow_stdin=False)
        value = outputs[-1][1]["data"]["text/plain"]
        assert value == "'the call was not approved: nobody can be asked here'"
