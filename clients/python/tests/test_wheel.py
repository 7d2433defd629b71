"""The wheel, as pip installs it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from conftest import REPOSITORY

import wardian

PROJECT = REPOSITORY / "clients" / "python"
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel with the program that the suite is run with."""
    folder = tmp_path_factory.mktemp("wheel")
    environment = {**os.environ, "WARDIAN_BINARY": str(wardian.find_binary())}
    build = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    subprocess.run([*PIP, *build, str(PROJECT)], check=True, env=environment)
    return next(folder.iterdir())


def test_a_wheel_has_the_package_and_the_program(wheel: Path, tmp_path: Path) -> None:
    install = ["install", "--quiet", "--no-deps", "--no-index", "--prefix", str(tmp_path)]
    subprocess.run([*PIP, *install, str(wheel)], check=True)
    program = tmp_path / "bin" / "wardian"
    told = subprocess.run([program, "--version"], check=True, capture_output=True, text=True)
    assert told.stdout.split() == ["wardian", wardian.__version__]
    found = next(tmp_path.glob("lib/*/site-packages/wardian"))
    source = PROJECT / "src" / "wardian"
    assert files_in(found) == files_in(source)
    assert {"py.typed", "_sync/client.py"} <= files_in(found)


def files_in(folder: Path) -> set[str]:
    """The files of a package, without bytecode."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {str(path.relative_to(folder)) for path in files}


def test_the_wheel_asks_for_the_pinned_engine(wheel: Path) -> None:
    pin = tomllib.loads((REPOSITORY / "wasm" / "engine.toml").read_text())
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith("METADATA"))
        lines = archive.read(name).decode().splitlines()
    assert f"Requires-Dist: {pin['package']}=={pin['version']}" in lines
    assert f"Version: {wardian.__version__}" in lines
    cargo = tomllib.loads((REPOSITORY / "Cargo.toml").read_text())["package"]
    assert cargo["version"] == wardian.__version__
