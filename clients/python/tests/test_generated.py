"""The synchronous half is the one that the asynchronous half says."""

from __future__ import annotations

import subprocess
import sys

from conftest import REPOSITORY


def test_the_synchronous_half_is_up_to_date() -> None:
    generate = REPOSITORY / "clients" / "python" / "generate.py"
    subprocess.run([sys.executable, str(generate), "--check"], check=True)
