"""Defects of sessions."""

from . import cells, requests, session_files

__all__ = ["cells", "requests", "session_files"]
