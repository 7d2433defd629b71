"""Sessions: interpreters that several calls of run_code use one after another."""

from . import called_tools, cells, conditions, resources, session_files, trees

__all__ = ["called_tools", "cells", "conditions", "resources", "session_files", "trees"]
