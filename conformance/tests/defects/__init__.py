"""Defects of a server, one at a time, each with the cases that must fail because of it.

Every case of the suite is there: a case that no defect fails would prove nothing.
"""

from . import blobs, code, describing, executing, extensions, files, guide, listing, rpc, sandbox, sessions
from .spoil import DEFECTS, before, refusing_with

__all__ = ["DEFECTS", "before", "refusing_with"]
__all__ += [
    "blobs",
    "code",
    "describing",
    "executing",
    "extensions",
    "files",
    "guide",
    "listing",
    "rpc",
    "sandbox",
    "sessions",
]
