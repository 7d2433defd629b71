"""Sessions: interpreters that several calls of run_code use one after another."""

from . import cells, conditions, resources, session_files, trees

__all__ = ["cells", "conditions", "resources", "session_files", "trees"]
