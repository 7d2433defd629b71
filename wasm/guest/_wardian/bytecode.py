"""Compiles the code of a skill once, for all later runs.

Runs in a sandbox of its own with only the skill mounted. The byte code is trusted as little as the
skill's source, and is used for this skill only.
"""

from __future__ import annotations

import base64
import marshal
import os

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
