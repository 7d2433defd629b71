"""Compiles the code of a skill once, for all runs to come.

Runs in a sandbox of its own, with nothing mounted but the skill: what comes out belongs to the
skill as much as its source does, and is used for it alone.
"""

from __future__ import annotations

import base64
import marshal
import os

from _wardian import importer, places


def compile_skill(name: str) -> dict[str, str]:
    """Compiles every Python file of the mounted skill `name`.

    Returns:
        For each file's path below the skill its code, in Base64. Files that do not compile are
        left out: whoever imports them is to see the error.
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
