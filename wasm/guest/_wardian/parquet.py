"""Parquet for pandas."""

from __future__ import annotations

from typing import Any


def add_engine(module: Any) -> None:
    """Nothing yet."""
