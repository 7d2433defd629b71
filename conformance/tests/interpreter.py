"""A program of several cells, for the stand-in."""

import ast
import contextlib
import io
import sys
import time
import traceback
import types

from .program import Program

# The longest real sleep of a cell, in seconds. Long enough for another call to come meanwhile.
LONGEST_SLEEP = 0.3


class Interpreter(Program):
    """One cell, in the state that the cells before it have left: they are executed again."""

    def __init__(self, server, blobs, timeout_ms, earlier):
        super().__init__(server, [], blobs, timeout_ms)
        self.display, self.sources, self.is_earlier = [], [""], True
        self.scope = self._scope("__main__")
        self.scope.update(display=self._display, In=self.sources, _=None, __=None)
        mounted = self.mounted
        for source in earlier:
            # What it raised was told to its own caller.
            with contextlib.suppress(Exception):
                self._cell(source)
        # Only files that differ are of the next cell.
        self.mounted = server.files_before({**mounted, **self.files}, mounted)
        self.display, self.is_earlier, self.log = [], False, io.StringIO()

    def execute(self, source, name, entrypoint, args):
        return self._cell(source)

    def _cell(self, source):
        name = self.server.name_of_cell(len(self.sources))
        self.sources.append(source)
        tree = ast.parse(source)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        with contextlib.redirect_stdout(self.log):
            sys.settrace(self._trace if "while True" in source else None)
            try:
                exec(compile(tree, name, "exec"), self.scope)
                value = eval(compile(ast.Expression(last.value), name, "eval"), self.scope) if last else None
            finally:
                sys.settrace(None)
        if value is not None:
            self.scope.update(_=value, __=self.scope["_"])
        return value

    def _display(self, *values):
        for value in values:
            bundle = {"text/plain": {"text": repr(value)}}
            if hasattr(value, "_repr_html_"):
                bundle["text/html"] = {"text": value._repr_html_()}
            self.display.append(bundle)

    def _time(self):
        def sleep(seconds):
            if not self.is_earlier:
                time.sleep(min(seconds, LONGEST_SLEEP))

        return types.SimpleNamespace(sleep=sleep)

    def described(self, error):
        frames = [
            (frame.f_code.co_filename, line, frame.f_code.co_name)
            for frame, line in traceback.walk_tb(error.__traceback__)
        ]
        names = {self.server.name_of_cell(number): number for number in range(1, len(self.sources))}
        told = []
        for name, line, function in frames:
            if name in names:
                told.append(f'  File "{name}", line {line}, in {function}')
                told.append(f"    {self.sources[names[name]].splitlines()[line - 1].strip()}")
        return {"type": type(error).__name__, "message": str(error), "traceback": "\n".join(told)}
