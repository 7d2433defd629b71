"""The commands of docs/jupyter.md print what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from conftest import REPOSITORY

import wardian

PAGE = (REPOSITORY / "docs" / "jupyter.md").read_text()
RUN_HERE = "<!-- not run: the tests of the Python client run it -->\n\n```console\n"
HOME = "/home/ann"


def steps() -> list[tuple[str, str]]:
    """Each command with its output."""
    blocks = [part.partition("```")[0] for part in PAGE.split(RUN_HERE)[1:]]
    found = [part.partition("\n") for block in blocks for part in block.split("$ ")[1:]]
    return [(command, output) for command, _, output in found]


def run(command: str, folder: Path, environment: dict[str, str]) -> str:
    """What a command prints, without the warning of ipykernel that the page explains."""
    printed = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ).stdout
    lines = printed.splitlines(keepends=True)
    return "".join(line for line in lines if "running over TCP without encryption" not in line)


def test_the_commands_of_the_page(server: wardian.LocalServer, tmp_path: Path) -> None:
    notebook = re.search(r"<!-- file: (.*) -->\n\n```json\n(.*?)```", PAGE, re.DOTALL)
    assert notebook is not None and len(steps()) == 6
    (tmp_path / notebook[1]).write_text(notebook[2])
    environment = {
        "HOME": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(REPOSITORY / "clients" / "python" / "src"),
    }
    for command, expected in steps():
        command = command.replace("http://127.0.0.1:8080", server.url)
        printed = run(command, tmp_path, environment)
        if "Address already in use" in printed:
            # Another process has taken the port that Jupyter had chosen for the kernel.
            printed = run(command, tmp_path, environment)
        assert printed.replace(str(tmp_path), HOME) == expected, command
