"""A real server for all tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import wardian

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def server() -> Iterator[wardian.LocalServer]:
    """A server of this suite's own."""
    with wardian.LocalServer() as server:
        yield server


@pytest.fixture
def client(server: wardian.LocalServer) -> Iterator[wardian.Client]:
    """A client of the server."""
    with wardian.Client(server.url) as client:
        yield client
