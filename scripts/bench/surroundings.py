"""The machine, the versions, and the virtual environment of the peers."""

from __future__ import annotations

import datetime
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
REQUIREMENTS = HERE / "requirements.txt"
NEEDED = (3, 12)
"""Oldest Python that every peer has a wheel for."""


def cache_folder() -> Path:
    """Where Wardian keeps what can be made again."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "wardian"


def find_python() -> Path:
    """The interpreter to measure against: CPython 3.13 if there is one."""
    for name in ("python3.13", "python3.14", "python3.12"):
        found = shutil.which(name)
        if found and works(found):
            return Path(found)
    if sys.version_info >= NEEDED:
        return Path(sys.executable)
    raise SystemExit("no Python of version 3.12 or later: name one with --python")


def works(python: str) -> bool:
    """False for a stand-in that only says that the version is not installed."""
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


def ensure_environment(python: Path | None) -> Path:
    """The Python of a virtual environment with the peers; made where it is missing or older."""
    folder = cache_folder() / "bench-venv"
    inside = folder / "bin" / "python3"
    stamp = folder / "requirements.txt"
    wanted = REQUIREMENTS.read_text()
    if python is None and stamp.is_file() and stamp.read_text() == wanted:
        return inside
    chosen = python or find_python()
    print(f"installing the peers for {chosen} ...", file=sys.stderr)
    subprocess.run([str(chosen), "-m", "venv", "--clear", str(folder)], check=True)
    pip = [str(inside), "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
    subprocess.run([*pip, "--disable-pip-version-check", "-r", str(REQUIREMENTS)], check=True)
    stamp.write_text(wanted)
    return inside


NATIVE = """
import platform, sysconfig
built = sysconfig.get_config_var("CONFIG_ARGS") or ""
kind = "with" if "--enable-optimizations" in built else "without"
print(platform.python_version(), "built", kind, "profile-guided optimisation")
"""


def describe(python: Path, wardian: Path) -> dict[str, str]:
    """Facts that a number means nothing without."""
    pins = [line for line in REQUIREMENTS.read_text().splitlines() if "==" in line]
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{processor()}, {os.cpu_count()} cores, {memory_gib()} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "wardian": output([str(wardian), "--version"]).removeprefix("wardian "),
        "native": "CPython " + output([str(python), "-c", NATIVE]),
        "peers": ", ".join(pin.replace("==", " ") for pin in pins),
    }


def output(command: list[str]) -> str:
    """What a command prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def processor() -> str:
    """The processor's name."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def memory_gib() -> int:
    """The machine's memory."""
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30))
