"""
A control plane with a fake engine for the client's tests.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from standfast.client import Client
from standfast.testing.server import FakeServer


@pytest.fixture(scope="session")
def server() -> Iterator[FakeServer]:
    """
    One control plane for all tests of the session; each test uses job names of its own.
    """
    with FakeServer() as running:
        yield running


@pytest.fixture
def sf(server: FakeServer) -> Iterator[Client]:
    """
    A client of it.
    """
    with Client(server.url) as client:
        yield client
