"""Paths in the sandbox: the only file that names the paths of the host's mounts."""

from __future__ import annotations

import json
import os

SKILLS = "/skills"
"""One folder for each mounted skill, read-only."""

BYTECODE = "/usr/local/lib/skills"
"""For a mounted skill whose code was compiled before: a folder with its name, and in it the code
of each file at the file's path, as `marshal` writes it."""

BATTERIES = "/usr/local/lib/batteries"
"""The batteries, read-only. A run without them has no such folder."""

LAYERS = "/usr/local/lib/layers"
"""The packages of skills, each set in a folder of its own."""

BLOBS = "/blobs"
"""One file for each mounted blob, named by its whole id, read-only."""

WORKSPACE = "/workspace"
"""The writable folder of the run: its first working folder and its HOME."""

TEMPORARY = "/tmp"
"""Another name for the workspace."""

LIBRARY = os.path.dirname(os.path.dirname(json.__file__))
"""The folder of the standard library and packages. Tracebacks fold its frames."""

INTERPRETER = "/usr/bin/python3"
"""The value of `sys.executable`. No file is there: programs that start it run in the same guest."""

OWN_CODE = "<wardian>/"
"""Start of the file names of everything that the image adds to Python."""
