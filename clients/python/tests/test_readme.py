"""The examples of README.md print what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY
from scripted import ScriptedServer
from test_models import anthropic_model, openai_model
from test_pictures import responses_model

import wardian

PROJECT = REPOSITORY / "clients" / "python"
README = (PROJECT / "README.md").read_text()
CODE = r"((?:(?!```).)*)"
PRINTING = re.compile(rf"```python\n{CODE}```\n\n```text\n{CODE}```", re.DOTALL)
EXAMPLES = PRINTING.findall(README)
WITH_COMMENT = re.compile(rf"```python\n{CODE}\n# ([^\n]*\n)```", re.DOTALL)
EXAMPLES_OF_THE_PROJECT = WITH_COMMENT.findall((REPOSITORY / "README.md").read_text())


def test_the_examples_are_found() -> None:
    assert (len(EXAMPLES), len(EXAMPLES_OF_THE_PROJECT)) == (11, 1)


def run(code: str, folder: Path, **variables: str) -> str:
    """What an example prints."""
    environment = {
        **os.environ,
        "WARDIAN_BINARY": str(wardian.find_binary()),
        "PYTHONPATH": str(PROJECT / "src"),
        **variables,
    }
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.parametrize(("code", "printed"), EXAMPLES + EXAMPLES_OF_THE_PROJECT)
def test_an_example_prints_what_the_readme_says(code: str, printed: str, tmp_path: Path) -> None:
    assert run(code, tmp_path) == printed


def block_with(text: str) -> str:
    """The example that has this text."""
    blocks: list[str] = re.findall(rf"```python\n{CODE}```", README, re.DOTALL)
    return next(block for block in blocks if text in block)


def test_the_example_for_openai(tmp_path: Path) -> None:
    with ScriptedServer(openai_model) as model:
        variables = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{model.url}/v1"}
        assert run(block_with("openai.OpenAI(),\n"), tmp_path, **variables) == "42, invalid_params\n"


def test_the_example_for_responses(tmp_path: Path) -> None:
    with ScriptedServer(responses_model) as model:
        variables = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{model.url}/v1"}
        assert run(block_with("run_responses(openai"), tmp_path, **variables) == "invalid_params\n"


def test_the_example_for_anthropic(tmp_path: Path) -> None:
    with ScriptedServer(anthropic_model) as model:
        variables = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": model.url}
        assert run(block_with("anthropic.Anthropic()"), tmp_path, **variables) == "It is 42.\n"
