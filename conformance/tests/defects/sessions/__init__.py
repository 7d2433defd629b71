"""Defects of sessions."""

from . import called_tools, cells, requests, session_files

__all__ = ["called_tools", "cells", "requests", "session_files"]
