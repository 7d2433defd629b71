"""Runs a program in this process, for the stand-in. It only looks like a sandbox: files, environment and
clock are simulated, and nothing is kept out that does not want to be."""

import builtins
import contextlib
import io
import os
import sys
import traceback
import types
import uuid

# How many lines of Python pass for a millisecond.
LINES_PER_MS = 20


class Stopped(BaseException):
    """The program has used up its time."""


class Crashed(BaseException):
    """The program has ended its process."""


class TextFile(io.StringIO):
    """A file that is written; its content is there at once."""

    def __init__(self, files, path):
        super().__init__()
        self._files, self._path = files, path
        files[path] = b""

    def write(self, text):
        count = super().write(text)
        self._files[self._path] = self.getvalue().encode()
        return count


class Program:
    """One run: its files, its log and its end."""

    def __init__(self, server, skills, blobs, timeout_ms, own=None):
        self.server, self.skills, self.own = server, {skill.name: skill for skill in skills}, own
        self.blobs, self.made = list(blobs), []
        self.timeout_ms, self.used_ms, self.lines = timeout_ms, 0.0, 0
        self.files = dict(server.left_files())
        for skill in skills:
            self.files.update({f"/skills/{skill.name}/{path}": data for path, data in skill.files.items()})
        self.files.update({f"/blobs/{blob}": server.blobs[blob][0] for blob in self.blobs})
        named = server.mounted_names(self.blobs)
        self.mounted = {f"/workspace/{name}": server.blobs[blob][0] for name, blob in named.items()}
        self.files.update(self.mounted)
        self.log = io.StringIO()
        self.environment = dict(server.environment)
        self.modules = {"builtins": server.guest_builtins(), "os": self._os(), "time": self._time()}
        self.modules.update(runtime=self._runtime(), socket=self._socket())

    def execute(self, source, name, entrypoint, args):
        """Calls a function of the source, or runs it as a script. Returns the value."""
        scope = self._scope(name)
        with contextlib.redirect_stdout(self.log):
            # Tracing is slow, and only endless loops need it.
            sys.settrace(self._trace if "while True" in source else None)
            try:
                return self._call(compile(source, name, "exec"), scope, source, entrypoint, args)
            finally:
                sys.settrace(None)

    def _call(self, code, scope, source, entrypoint, args):
        if entrypoint is None and "def main(" not in source:
            *body, last = source.strip().split("\n")
            exec("\n".join(body), scope)
            return eval(last, scope)
        exec(code, scope)
        entrypoint = entrypoint or "main"
        if entrypoint not in scope:
            raise NameError(f"{entrypoint} is not defined")
        return scope[entrypoint](args)

    def _scope(self, name):
        guest = dict(vars(builtins), open=self.open, __import__=self._import)
        return {"__builtins__": guest, "__name__": name}

    def _trace(self, frame, event, _):
        if event == "line":
            self.lines += 1
            self._spend(1 / LINES_PER_MS)
        return self._trace

    def _spend(self, milliseconds):
        self.used_ms += milliseconds
        if self.used_ms > self.timeout_ms:
            raise Stopped

    def open(self, path, mode="r", encoding=None):
        """Opens a simulated file."""
        path = path if path.startswith("/") else f"/workspace/{path}"
        if "w" in mode:
            if not self.server.may_write(path):
                raise PermissionError(path)
            return TextFile(self.files, path)
        if path not in self.files:
            raise FileNotFoundError(path)
        return io.StringIO(self.files[path].decode())

    def _import(self, name, scope=None, local=None, names=(), level=0):
        if name in self.modules:
            return self.modules[name]
        if name.startswith("skills."):
            skill = self.server.importable(name[len("skills.") :], self.skills)
            if skill is None:
                raise ModuleNotFoundError(name)
            return self._module(skill, skill.manifest["runtime"]["entrypoint"])
        if self.own and self.server.helper_path(self.own, name) in self.own.files:
            return self._module(self.own, self.server.helper_path(self.own, name))
        return builtins.__import__(name, scope, local, names, level)

    def _module(self, skill, path):
        module = types.ModuleType(path)
        vars(module).update(self._scope(path))
        exec(compile(skill.files[path].decode(), path, "exec"), vars(module))
        return module

    def _os(self):
        def crash(code):
            raise Crashed

        def folder(path):
            return [file[len(path) + 1 :] for file in self.files if file.startswith(f"{path}/")]

        paths = types.SimpleNamespace(exists=lambda path: path in self.files, isdir=lambda path: True)
        return types.SimpleNamespace(environ=self.environment, path=paths, listdir=folder, _exit=crash)

    def _time(self):
        return types.SimpleNamespace(sleep=lambda seconds: self._spend(seconds * 1000))

    def _socket(self):
        def connect(address, timeout=None):
            if not self.server.lets_connect:
                raise OSError("no network")
            return io.StringIO()

        return types.SimpleNamespace(create_connection=connect)

    def described(self, error):
        """Type, message and traceback of an exception."""
        return described(error)

    def _runtime(self):
        def read_text(blob):
            if blob not in self.blobs:
                raise FileNotFoundError(blob)
            return self.server.blobs[blob][0].decode()

        def write_text(text, kind="text/plain"):
            blob = self.server.store_blob(text.encode(), kind)
            self.made.append(blob)
            return blob

        def info(text):
            self.log.write(f"[info] {text}\n")

        blobs = types.SimpleNamespace(read_text=read_text, write_text=write_text)
        return types.SimpleNamespace(blobs=blobs, log=types.SimpleNamespace(info=info))


def described(error):
    """Type, message and traceback of an exception."""
    # Without the text of the lines: looking for it is slow.
    stack = traceback.StackSummary.extract(
        traceback.walk_tb(error.__traceback__), limit=30, lookup_lines=False
    )
    frames = [frame for frame in stack if not os.path.isabs(frame.filename)]
    lines = [f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}' for frame in frames]
    message = str(error) or type(error).__name__
    return {"type": type(error).__name__, "message": message, "traceback": "\n".join(lines)}


def new_run_id():
    """An id for a run."""
    return f"run_{uuid.uuid4().hex}"
