"""Defects of sessions."""

from . import cells, requests

__all__ = ["cells", "requests"]
