"""The examples of README.md print what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY

import wardian

PROJECT = REPOSITORY / "clients" / "python"
README = (PROJECT / "README.md").read_text()
CODE = r"((?:(?!```).)*)"
EXAMPLES = re.findall(rf"```python\n{CODE}```\n\n```text\n{CODE}```", README, re.DOTALL)


def test_the_examples_are_found() -> None:
    assert len(EXAMPLES) == 8


@pytest.mark.parametrize(("code", "printed"), EXAMPLES)
def test_an_example_prints_what_the_readme_says(code: str, printed: str, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "WARDIAN_BINARY": str(wardian.find_binary()),
        "PYTHONPATH": str(PROJECT / "src"),
    }
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == printed
