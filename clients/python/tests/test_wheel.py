"""The wheel, as pip installs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
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
    cargo = tomllib.loads((REPOSITORY / "Cargo.toml").read_text())["workspace"]["package"]
    assert cargo["version"] == wardian.__version__


def test_the_wheel_has_the_licences_and_the_list_of_its_parts(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = archive.read(f"wardian-{wardian.__version__}.dist-info/METADATA").decode()
    info = f"wardian-{wardian.__version__}.dist-info"
    assert f"{info}/sboms/wardian.cdx.json" in names
    files = [line.split(": ")[1] for line in metadata.splitlines() if line.startswith("License-File")]
    assert files == ["LICENSE", "deploy/offline/crates.txt"]
    assert {f"{info}/licenses/{file}" for file in files} <= names


def make_sdist(folder: Path) -> Path:
    """The source distribution, unpacked."""
    program = "import build_backend, sys; print(build_backend.build_sdist(sys.argv[1]))"
    made = subprocess.run(
        [sys.executable, "-c", program, str(folder)], cwd=PROJECT, check=True, capture_output=True
    )
    with tarfile.open(folder / made.stdout.decode().strip()) as archive:
        archive.extractall(folder, filter="data")
    return folder / f"wardian-{wardian.__version__}"


def test_a_source_distribution_has_all_that_cargo_reads(tmp_path: Path) -> None:
    sources = make_sdist(tmp_path)
    assert (sources / "PKG-INFO").read_text().startswith("Metadata-Version: 2.4\n")
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"]
    told = subprocess.run(command, cwd=sources / "server", check=True, capture_output=True)
    packages = json.loads(told.stdout)["packages"]
    assert {"wardian", "wardian-sandbox"} <= {package["name"] for package in packages}
    for target in (target for package in packages for target in package["targets"]):
        assert Path(target["src_path"]).is_file(), target
    tracked = subprocess.run(
        ["git", "ls-files", "crates", "src", "skills", "wasm"]
        + ["deploy/offline/*.txt", "deploy/offline/*.json"],
        cwd=REPOSITORY,
        check=True,
        capture_output=True,
        text=True,
    )
    missing = [path for path in tracked.stdout.split() if not (sources / "server" / path).is_file()]
    assert not missing


def test_without_rust_the_build_says_what_to_do(tmp_path: Path) -> None:
    sources = make_sdist(tmp_path)
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    if shutil.which("cargo", path=environment["PATH"]):
        pytest.skip("this machine has a cargo of its system")
    program = "import build_backend; build_backend.build_wheel('.')"
    told = subprocess.run(
        [sys.executable, "-c", program], cwd=sources, env=environment, capture_output=True, text=True
    )
    assert told.returncode != 0
    assert "needs Rust" in told.stderr and "Traceback" not in told.stderr
