"""Builds the wheel: the package, and the server's program as a script.

This backend can pack a program that is already built (`WARDIAN_BINARY`), so that nothing is compiled
twice; otherwise it runs cargo. It depends only on Python. The source distribution contains the sources
of the server in the folder `server`.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import os
import platform
import re
import shutil
import subprocess
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SERVER = HERE / "server"
# A source distribution contains the sources of the server; in the repository they are around the client.
REPOSITORY = SERVER if SERVER.is_dir() else HERE.parent.parent
EPOCH = (1980, 1, 1, 0, 0, 0)
# What cargo needs to build the server.
SERVER_SOURCES = (
    "Cargo.toml Cargo.lock LICENSE build.rs benches conformance crates skills src deploy/offline wasm".split()
)
LICENSE_FILES = ["LICENSE", "deploy/offline/crates.txt"]
CLIENT_SOURCES = ["README.md", "build_backend.py", "pyproject.toml", "src"]
LEFT_OUT = re.compile(r"__pycache__|\.pyc$|egg-info|^conformance/build/|^benches/.*results/|advisories\.tar\.xz$")
NO_CARGO = """\
building the Wardian server from source needs Rust, but `cargo` was not found. Install Rust 1.95 or
later (https://rustup.rs), or a wheel of wardian for this machine: wheels exist for Linux with glibc on
x86-64. WARDIAN_BINARY can name a program that was built elsewhere.\
"""


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    """Writes the source distribution, and returns its name."""
    project: dict[str, Any] = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    stem = f"{project['name']}-{project['version']}"
    archived = io.BytesIO()
    with tarfile.open(fileobj=archived, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        contents = {f"{stem}/PKG-INFO": metadata(project).encode()}
        for folder, names, place in (
            (HERE, CLIENT_SOURCES, stem),
            (REPOSITORY, SERVER_SOURCES, f"{stem}/server"),
        ):
            for path in source_files(folder, names):
                contents[f"{place}/{path.relative_to(folder).as_posix()}"] = path.read_bytes()
        for name, content in sorted(contents.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    name = f"{stem}.tar.gz"
    (Path(sdist_directory) / name).write_bytes(gzip.compress(archived.getvalue(), mtime=0))
    return name


def source_files(folder: Path, names: Iterable[str]) -> Iterator[Path]:
    """The files with these names, and those in the folders with these names."""
    for name in names:
        top = folder / name
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            if path.is_file() and not LEFT_OUT.search(path.relative_to(folder).as_posix()):
                yield path


def get_requires_for_build_sdist(config_settings: object = None) -> list[str]:
    """No requirements."""
    return []


def get_requires_for_build_wheel(config_settings: object = None) -> list[str]:
    """No requirements."""
    return []


def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: object = None
) -> str:
    """Writes the metadata, so that reading them does not build the server."""
    project: dict[str, Any] = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    info = f"{project['name']}-{project['version']}.dist-info"
    (Path(metadata_directory) / info).mkdir()
    (Path(metadata_directory) / info / "METADATA").write_text(metadata(project))
    return info


def build_wheel(
    wheel_directory: str, config_settings: object = None, metadata_directory: object = None
) -> str:
    """Writes the wheel, and returns its name."""
    project: dict[str, Any] = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    program = find_program()
    stem = f"{project['name']}-{project['version']}"
    tag = f"py3-none-{platform_tag(program)}"
    name = f"{stem}-{tag}.whl"
    info = f"{stem}.dist-info"
    wheel = f"Wheel-Version: 1.0\nGenerator: wardian\nRoot-Is-Purelib: false\nTag: {tag}\n"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as archive:
        record: list[str] = []
        for path in sorted((HERE / "src").rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                add(archive, record, path.relative_to(HERE / "src").as_posix(), path.read_bytes())
        add(archive, record, f"{stem}.data/scripts/wardian", program.read_bytes(), 0o755)
        add(archive, record, f"{info}/METADATA", metadata(project).encode())
        add(archive, record, f"{info}/WHEEL", wheel.encode())
        for file in LICENSE_FILES:
            add(archive, record, f"{info}/licenses/{file}", (REPOSITORY / file).read_bytes())
        sbom = (REPOSITORY / "deploy/offline" / "sbom.cdx.json").read_bytes()
        add(archive, record, f"{info}/sboms/wardian.cdx.json", sbom)
        lines = "\n".join([*record, f"{info}/RECORD,,", ""])
        add(archive, [], f"{info}/RECORD", lines.encode())
    return name


def find_program() -> Path:
    """The program to pack."""
    named = os.environ.get("WARDIAN_BINARY")
    if named:
        return Path(named)
    if shutil.which("cargo") is None:
        raise SystemExit(NO_CARGO)
    subprocess.run(["cargo", "build", "--release", "--locked"], cwd=REPOSITORY, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
    return target / "release" / "wardian"


def platform_tag(program: Path) -> str:
    """The platforms that the program runs on: those with the C library that it requires."""
    asked = [int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", program.read_bytes())]
    if not asked:
        raise SystemExit(f"{program} does not look like a program for Linux with glibc")
    return f"manylinux_2_{max(asked)}_{platform.machine()}"


def metadata(project: dict[str, Any]) -> str:
    """The METADATA of the wheel (version 2.4)."""
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {project['version']}",
        f"Summary: {project['description']}",
        f"License-Expression: {project['license']}",
        *(f"License-File: {file}" for file in LICENSE_FILES),
        f"Requires-Python: {project['requires-python']}",
        *(f"Requires-Dist: {needed}" for needed in project["dependencies"]),
    ]
    for extra, needs in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {needed}; extra == '{extra}'" for needed in needs]
    lines.append("Description-Content-Type: text/markdown")
    return "\n".join([*lines, "", (HERE / project["readme"]).read_text()])


def add(
    archive: zipfile.ZipFile, record: list[str], name: str, content: bytes, mode: int = 0o644
) -> None:
    """Adds a file, and its line in RECORD. Equal content gives equal wheels."""
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.external_attr = (0o100000 | mode) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    record.append(f"{name},sha256={digest},{len(content)}")
