"""Compiles the code of a skill or of packages once, for all later runs.

Runs in a sandbox of its own with only the skill or the packages mounted. The byte code is trusted
as little as their source, and is used for them only.
"""

from __future__ import annotations

import base64
import importlib._bootstrap_external as machinery
import importlib.util
import marshal
import os
import warnings
from typing import Any

from _wardian import importer, places


def compile_skill(name: str) -> dict[str, str]:
    """Compiles every Python file of the mounted skill `name`.

    Returns:
        The code of each file in Base64, by the file's path below the skill. Files that do not
        compile are left out, so that importing them raises the error.
    """
    root = f"{places.SKILLS}/{name}"
    compiled = {}
    for folder, folders, files in os.walk(root):
        folders.sort()
        for file in sorted(files):
            path = f"{folder}/{file}"
            if not file.endswith(".py"):
                continue
            try:
                code = importer.compile_file(path)
            except (SyntaxError, ValueError, OSError, MemoryError, RecursionError):
                continue
            compiled[path[len(root) + 1 :]] = base64.b64encode(marshal.dumps(code)).decode()
    return compiled


def compile_modules(root: str, paths: list[str]) -> dict[str, str]:
    """Compiles modules of the packages below `root`.

    Returns:
        What Python keeps in `__pycache__`, in Base64, by the path of the module. It is valid
        without a look at the source, which never changes.
    """
    to_cache: Any = machinery._code_to_hash_pyc  # type: ignore[attr-defined]
    compiled = {}
    warnings.simplefilter("ignore")  # of the authors' code, which nobody here can change
    for path in paths:
        try:
            with open(f"{root}/{path}", "rb") as file:
                source = file.read()
            code = compile(source, f"{root}/{path}", "exec", 0, True)
        except (SyntaxError, ValueError, OSError, MemoryError, RecursionError):
            continue
        cached = to_cache(code, importlib.util.source_hash(source), False)
        compiled[path] = base64.b64encode(cached).decode()
    return compiled
