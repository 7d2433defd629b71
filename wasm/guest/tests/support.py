"""A host made of Python: what the sandbox mounts is a temporary folder, the door a function."""

from __future__ import annotations

import atexit
import contextlib
import errno
import importlib
import io
import json
import linecache
import os
import struct
import sys
import tempfile
import time
import types
import unittest
import weakref
from pathlib import Path
from typing import Any

import bootstrap


class Door(types.ModuleType):
    """The built-in module `_host`, as long as there is no sandbox."""

    def __init__(self) -> None:
        super().__init__("_host")
        self.sandbox: Sandbox | None = None

    def call(self, frame: bytes) -> bytes:
        if self.sandbox is None:
            raise ConnectionRefusedError("there is no host")
        return self.sandbox.answer(frame)


door_module = Door()
sys.modules.setdefault("_host", door_module)


def read_modules() -> dict[str, tuple[bool, str]]:
    """Returns the guest's modules as the host gives them to the bootstrap."""
    root = Path(__file__).parent.parent
    modules = {}
    for file in sorted(
        path for name in ("_wardian", "runtime") for path in root.glob(f"{name}/*.py")
    ):
        is_package = file.name == "__init__.py"
        name = file.parent.name if is_package else f"{file.parent.name}.{file.stem}"
        modules[name] = (is_package, file.read_text(encoding="utf-8"))
    return modules


def install() -> None:
    """Loads the guest's modules in the order of the bootstrap.

    From then on this process has no network but the one of its sandbox: `_socket`, `_ssl` and
    `select` are replaced, and so is all that was made on top of them before.
    """
    for name in list(sys.modules):
        if name.partition(".")[0] in ("asyncio", "http", "selectors", "socket", "ssl"):
            del sys.modules[name]
    modules = read_modules()
    bootstrap.install_network(modules)
    selectors = importlib.import_module("selectors")
    selectors.DefaultSelector = selectors.PollSelector  # as in the sandbox, which has no other
    bootstrap.install_modules(modules)


if "_wardian" not in sys.modules:
    install()

import _wardian  # noqa: E402
from _wardian import cells, importer, places, runner  # noqa: E402


# A run ends with the exit handlers of its program, and not with those of this process: the one of
# `weakref`, which is registered with the first finalizer, removes all temporary folders.
weakref.finalize(Door, lambda: None)
atexit._clear()


class Stream(io.StringIO):
    """A stream whose text can be read after the program has closed it."""

    text = ""

    def write(self, text: str) -> int:
        self.text += text
        return super().write(text)


LEVELS = ("debug", "info", "warning", "error")


class Refusal(Exception):
    """What the fake host answers with instead of doing what was asked."""

    def __init__(self, kind: str, message: str = "no") -> None:
        super().__init__(message)
        self.kind = kind


class Sandbox(unittest.TestCase):
    """A test case with a folder of its own behind `/skills`, `/blobs` and `/workspace`."""

    maxDiff = None

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="sandbox-")
        self.addCleanup(folder.cleanup)
        self.root = os.path.realpath(folder.name)
        for place in ("SKILLS", "BYTECODE", "BLOBS", "WORKSPACE"):
            self.addCleanup(setattr, places, place, getattr(places, place))
            setattr(places, place, f"{self.root}/{place.lower()}")
            os.mkdir(getattr(places, place))
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(places.WORKSPACE)

        self.ends: list[tuple[str, Any]] = []
        self.converted: dict[str, Any] = {}
        self.logs: list[tuple[str, str]] = []
        self.written: dict[str, tuple[str, bytes]] = {}
        self.blob_names: dict[str, str] = {}
        self.refusals: dict[int, Refusal] = {}
        self.job: dict[str, Any] = {}
        self.timer = (0.0, 0.0)
        self.printed = self.complained = ""
        self.displayed: list[dict[str, Any]] = []
        self.reseeded = self.cells = 0
        self.told: list[dict[str, Any]] = []
        self.requests: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.held: list[dict[str, Any]] = []
        self.soon: list[list[dict[str, Any]] | BaseException] = []
        door_module.sandbox = self
        self.addCleanup(setattr, door_module, "sandbox", None)
        self._restore_process_afterwards()

    def _restore_process_afterwards(self) -> None:
        modules, path, argv = dict(sys.modules), list(sys.path), sys.argv
        environment = dict(os.environ)

        def restore() -> None:
            for name in set(sys.modules) - set(modules):
                if name in ("main", "__main__") or name.startswith("skills."):
                    del sys.modules[name]
            sys.modules.update(modules)
            for name in list(vars(sys.modules["skills"])):
                if not name.startswith("__"):
                    delattr(sys.modules["skills"], name)
            sys.path[:], sys.argv = path, argv
            os.environ.clear()
            os.environ.update(environment)
            linecache.clearcache()
            importer.mount(())

        self.addCleanup(runner.forget_run)
        self.addCleanup(cells.forget)
        self.addCleanup(restore)

    # What the host does.

    def answer(self, frame: bytes) -> bytes:
        operation, payload = frame[0], frame[1:]
        refusal = self.refusals.pop(operation, None)
        if refusal is not None:
            reason = {"type": refusal.kind, "message": str(refusal)}
            return b"\1" + json.dumps(reason).encode()
        if operation == 1:
            return b"\0" + json.dumps(self.job).encode()
        if operation == 11:
            length = int.from_bytes(payload[:4], "little")
            self.converted = json.loads(payload[4 : 4 + length])
            operation, payload = 2, payload[4 + length :]
        if operation in (2, 3):
            # The host's own parser knows neither NaN nor bytes that are no UTF-8.
            value = json.loads(payload.decode(), parse_constant=self._refuse_constant)
            self.ends.append(({2: "returned", 3: "raised"}[operation], value))
            return b"\0"
        if operation == 4:
            self.logs.append((LEVELS[payload[0]], payload[1:].decode()))
            return b"\0"
        if operation in (5, 6):
            return b"\0" + json.dumps(self._store(operation, payload)).encode()
        if operation == 9:
            return b"\0" + self.answer_network(payload)
        if operation == 12:
            length = int.from_bytes(payload[:2], "little")
            self.blob_names[payload[2 : 2 + length].decode()] = payload[2 + length :].decode()
            return b"\0"
        if operation == 13:
            return b"\0" + self._timer(payload)
        if operation == 14:
            return b"\0" + self._cell(payload)
        raise OSError(f"unknown operation {operation}")

    def _timer(self, request: bytes) -> bytes:
        """The timer, as the host has it. It interrupts nobody: a test waits for its signals."""
        now, (due, interval) = time.monotonic(), self.timer
        if request[0] == 2:
            if not due or now < due:
                return b"\0"
            self.timer = (due + interval if interval else 0.0, interval)
            return b"\1"
        left = max(due - now, 1e-9) if due else 0.0
        if request[0] == 1:
            first, then = (int.from_bytes(request[at : at + 8], "little") for at in (1, 9))
            self.timer = (now + first / 1e9 if first else 0.0, then / 1e9)
        return b"".join(
            round(time * 1e9).to_bytes(8, "little") for time in (left, interval if due else 0.0)
        )

    def _cell(self, request: bytes) -> bytes:
        """What a cell displays, and that it was reseeded."""
        if request[0] == 1:
            self.displayed.clear()
        elif request[0] == 2:
            self.reseeded += 1
        elif request[0] == 4:
            self.requests = json.loads(request[1:].decode(), parse_constant=self._refuse_constant)
            self.asked.extend(self.requests)
            return json.dumps(
                [{"number": one["number"], **self.held.pop(0)} for one in self.requests]
            ).encode()
        elif request[0] == 6:
            self.asked.extend(json.loads(request[1:]))
            answers = self.soon.pop(0) if self.soon else []
            if isinstance(answers, BaseException):
                raise answers
            return json.dumps(answers).encode()
        elif request[0] == 5:
            self.told.append(json.loads(request[1:].decode(), parse_constant=self._refuse_constant))
        elif request[0] == 3:
            self.requests = json.loads(request[1:].decode(), parse_constant=self._refuse_constant)
            self.ends.append(("waits", self.requests))
        if request[0]:
            return b""
        at, count = struct.unpack_from("<IB", request, 1)
        bundle, position = {}, 6
        for _ in range(count):
            is_text, kind, length = struct.unpack_from("<BHI", request, position)
            position += 7
            name = request[position : position + kind].decode()
            content = request[position + kind : position + kind + length]
            bundle[name] = content.decode() if is_text else content
            position += kind + length
        self.assertEqual(position, len(request), "a bundle has nothing behind its parts")
        if at == 0xFFFFFFFF:
            at = len(self.displayed)
            self.displayed.append(bundle)
        else:
            self.displayed[at] = bundle
        return at.to_bytes(4, "little")

    def answer_network(self, request: bytes) -> bytes:
        """Answers a request for the network; a run has none unless a test gives it one."""
        return b"\1" + errno.ENETUNREACH.to_bytes(2, "little")

    def _refuse_constant(self, name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    def _store(self, operation: int, payload: bytes) -> dict[str, Any]:
        length = int.from_bytes(payload[:2], "little")
        kind, content = payload[2 : 2 + length].decode(), payload[2 + length :]
        if operation == 6:
            with open(content, "rb") as file:
                content = file.read()
        blob_id = f"blob:new{len(self.written) + 1}"
        self.written[blob_id] = (kind, content)
        with open(f"{places.BLOBS}/{blob_id}", "wb") as file:
            file.write(content)
        return {"id": blob_id, "size_bytes": len(content)}

    # What tests do.

    def mount_blob(self, blob_id: str, content: bytes, kind: str = "text/plain") -> dict[str, Any]:
        with open(f"{places.BLOBS}/{blob_id}", "wb") as file:
            file.write(content)
        return {"id": blob_id, "kind": kind, "size_bytes": len(content)}

    def mount_skill(
        self,
        name: str,
        files: dict[str, str],
        entrypoint: str | None = "code/main.py",
        export: str = "main",
    ) -> dict[str, Any]:
        for path, text in files.items():
            target = f"{places.SKILLS}/{name}/{path}"
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "w", encoding="utf-8") as file:
                file.write(text)
        entry = None if entrypoint is None else {"path": entrypoint, "export": export}
        return {"name": name, "version": "1.0.0", "entrypoint": entry}

    def run_job(self, program: dict[str, Any], **fields: Any) -> tuple[str, Any]:
        """Runs a program as the host would and returns its end."""
        self.job = {
            "run_id": "run_test",
            "program": program,
            "entrypoint": None,
            "args": {},
            "skills": [],
            "blobs": [],
            "packages": [],
            "environment": {},
            "seed": 1,
            "strict_output": False,
            **fields,
        }
        self.ends, self.converted = [], {}
        out, err = Stream(), Stream()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            _wardian.run()
        self.printed, self.complained = out.text, err.text
        self.assertEqual(len(self.ends), 1, f"exactly one end is reported, not {self.ends}")
        return self.ends[0]

    def run_code(self, source: str, **fields: Any) -> tuple[str, Any]:
        return self.run_job({"code": {"source": source, "file_name": "main.py"}}, **fields)

    def run_cell(self, source: str, reseed: bool = False, **fields: Any) -> tuple[str, Any]:
        """Runs the next cell of the test's session."""
        self.cells += 1
        self.displayed = []
        order = {"number": self.cells, "reseed": reseed}
        return self.run_code(source, cell=order, **fields)

    def answers(self, *answers: dict[str, Any], **fields: Any) -> tuple[str, Any]:
        """Goes on with a cell that waits, with these answers in the order of its requests."""
        numbered = [
            {"number": request["number"], **answer}
            for request, answer in zip(self.requests, answers, strict=True)
        ]
        self.displayed = []
        order = {"number": self.cells, "reseed": False, "answers": numbered, **fields}
        return self.run_code("", cell=order)

    def waits(self, source: str, tools: Any = ()) -> list[dict[str, Any]]:
        """Runs a cell that must wait, with tools of these names, and returns its requests."""
        self.cells += 1
        self.displayed = []
        declared = [{"name": name} for name in tools]
        order = {"number": self.cells, "reseed": False, "tools": declared}
        end, requests = self.run_code(source, cell=order)
        self.assertEqual(end, "waits", requests)
        return self.requests

    def gives(self, source: str, **fields: Any) -> Any:
        """Runs a cell that must not fail, and returns its value."""
        end, value = self.run_cell(source, **fields)
        self.assertEqual(end, "returned", value)
        return value

    def raises(self, source: str, **fields: Any) -> dict[str, Any]:
        """Runs a cell that must fail, and returns the report."""
        end, value = self.run_cell(source, **fields)
        self.assertEqual(end, "raised", value)
        return value

    def run_skill(self, skill: dict[str, Any], *others: dict[str, Any], **fields: Any) -> Any:
        program = {"skill": {"name": skill["name"]}}
        return self.run_job(program, skills=[skill, *others], **fields)

    def returns(self, source: str, **fields: Any) -> Any:
        """Runs code that must return, and returns what it returns."""
        end, value = self.run_code(source, **fields)
        self.assertEqual(end, "returned", value)
        return value

    def fails(self, source: str, **fields: Any) -> dict[str, Any]:
        """Runs code that must fail, and returns the report."""
        end, value = self.run_code(source, **fields)
        self.assertEqual(end, "raised", value)
        self.assertEqual(sorted(value), ["message", "traceback", "type"])
        return value


__all__ = ["Refusal", "Sandbox", "places", "runner"]
