"""Builds what is measured: with optimisation, and always from the sources as they are now."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def build(*targets: str) -> Path:
    """Builds; returns the folder with the results."""
    command = ["cargo", "build", "--release", "--locked", *targets]
    subprocess.run(command, cwd=ROOT, check=True, stdout=sys.stderr)
    folder = os.environ.get("CARGO_TARGET_DIR")
    return (Path(folder) if folder else ROOT / "target") / "release"
