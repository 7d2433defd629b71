"""Makes the wheel: the package, and the server's program as a script beside it.

A backend of its own, because it takes a program that was built already (`WARDIAN_BINARY`), so that
nothing is compiled twice; without one it lets cargo build it. It needs nothing but Python.
"""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import re
import subprocess
import tomllib
import zipfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
EPOCH = (1980, 1, 1, 0, 0, 0)


def get_requires_for_build_wheel(config_settings: object = None) -> list[str]:
    """Nothing."""
    return []


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
        add(archive, record, f"{info}/licenses/LICENSE", (REPOSITORY / "LICENSE").read_bytes())
        lines = "\n".join([*record, f"{info}/RECORD,,", ""])
        add(archive, [], f"{info}/RECORD", lines.encode())
    return name


def find_program() -> Path:
    """The program to pack."""
    named = os.environ.get("WARDIAN_BINARY")
    if named:
        return Path(named)
    subprocess.run(["cargo", "build", "--release", "--locked"], cwd=REPOSITORY, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
    return target / "release" / "wardian"


def platform_tag(program: Path) -> str:
    """The systems that the program runs on: those with the C library that it asks for."""
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
        "License-File: LICENSE",
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
    """Adds a file, and its line of the record. Equal content gives equal wheels."""
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.external_attr = (0o100000 | mode) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    record.append(f"{name},sha256={digest},{len(content)}")
