"""A server that knows its callers by keys, and the tenants that call it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from served import Server


@contextlib.contextmanager
def serving(
    program: Path, tenants: int, *settings: str, data: Path | None = None
) -> Iterator[tuple[Server, list[str]]]:
    """A running server, and one key of each tenant."""
    with contextlib.ExitStack() as stack:
        if data is None:
            data = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wardian-")))
        keys = [make_key(program, data, f"tenant-{number}") for number in range(tenants)]
        every = ("--set", "auth.mode=keys", *settings)
        yield stack.enter_context(Server(program, *every, data=data)), keys


def make_key(program: Path, data: Path, tenant: str, name: str = "load") -> str:
    """A new key. Raises if it is not acknowledged."""
    command = [program, "--data-dir", data, "keys", "create", "--tenant", tenant, "--name", name]
    made = subprocess.run([*command, "--json"], check=True, capture_output=True, text=True)
    key: str = json.loads(made.stdout)["key"]
    return key
