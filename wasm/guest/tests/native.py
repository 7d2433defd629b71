"""Programs that run twice: as children in the guest, and as processes of this machine."""

from __future__ import annotations

import os
import posix
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from _wardian import packages
from tests.support import Sandbox, places

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/tmp", "PYTHONDONTWRITEBYTECODE": "1"}

_native: Any = posix


def natively(words: Sequence[str], folder: str, stdin: bytes, joined: bool) -> tuple[int, bytes, bytes]:
    """Runs a program of this machine: its exit code, output and errors."""
    names = [f"{folder}.{name}" for name in ("in", "out", "err")]
    with open(names[0], "wb") as file:
        file.write(stdin)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [
        (posix.POSIX_SPAWN_OPEN, 0, names[0], os.O_RDONLY, 0),
        (posix.POSIX_SPAWN_OPEN, 1, names[1], flags | os.O_APPEND, 0o600),
        (posix.POSIX_SPAWN_DUP2, 1, 2)
        if joined
        else (posix.POSIX_SPAWN_OPEN, 2, names[2], flags | os.O_APPEND, 0o600),
    ]
    line = ["/bin/sh", "-c", 'cd "$0" && exec "$@"', folder, *words]
    pid = _native.posix_spawn("/bin/sh", line, ENVIRONMENT, file_actions=actions)
    _, status = _native.waitpid(pid, 0)
    code = _native.waitstatus_to_exitcode(status)
    found = []
    for name in names[1:]:
        try:
            with open(name, "rb") as file:
                found.append(file.read())
        except FileNotFoundError:
            found.append(b"")
    for name in names:
        if os.path.exists(name):
            os.unlink(name)
    return code, found[0], found[1]


_ADVICE = re.compile(rb": %b| \(%b\)" % ((re.escape(packages.NOT_INSTALLED.encode()),) * 2))


def _comparable(part: Any) -> Any:
    """The same, without the times that test runners tell and the advice about a missing module."""
    if not isinstance(part, bytes):
        return part
    return re.sub(rb" in \d+\.\d+s", b" in 0s", _ADVICE.sub(b"", part))


class Compared(Sandbox):
    """A test that runs programs in both ways."""

    def compare(
        self,
        words: Sequence[str],
        files: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        joined: bool = False,
        shell: bool = False,
    ) -> tuple[int, bytes, bytes]:
        """Runs a program in both ways, and returns how it ended in both."""
        results = []
        left = []
        for is_native in (False, True):
            for name in os.listdir(places.WORKSPACE):
                path = f"{places.WORKSPACE}/{name}"
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
            for name, text in (files or {}).items():
                path = f"{places.WORKSPACE}/{name}"
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            if is_native:
                line = ["/bin/sh", "-c", words[0]] if shell else words
                results.append(natively(line, places.WORKSPACE, stdin, joined))
            else:
                results.append(self._in_guest(words[0] if shell else list(words), stdin, joined, shell))
            left.append(sorted(os.listdir(places.WORKSPACE)))
        results = [tuple(_comparable(part) for part in one) for one in results]
        self.assertEqual(results[0], results[1], words)
        self.assertEqual(left[0], left[1])
        return results[0]

    def _in_guest(self, words: Any, stdin: bytes, joined: bool, shell: bool) -> tuple[int, bytes, bytes]:
        value = self.returns(
            "import subprocess\n"
            "def main(words, stdin, joined, shell, env):\n"
            "    error = subprocess.STDOUT if joined else subprocess.PIPE\n"
            "    done = subprocess.run(words, input=stdin.encode('latin-1'), stdout=subprocess.PIPE, stderr=error,\n"
            "                          shell=shell, env=env)\n"
            "    return [done.returncode, *((text or b'').decode('latin-1') for text in (done.stdout, done.stderr))]\n",
            args={
                "words": words,
                "stdin": stdin.decode("latin-1"),
                "joined": joined,
                "shell": shell,
                "env": ENVIRONMENT,
            },
        )
        code, out, err = value
        return code, out.encode("latin-1"), err.encode("latin-1")


PYTHON = sys.executable
