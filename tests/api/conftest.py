"""
A whole control plane in this process: memory store, fake engine, the real loop; the API is called without a network.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from api_driver import ADDRESS, client_of, served

from standfast.settings import Settings
from standfast.wiring import Plane, control_plane


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """
    Few settings; a test that needs others overrides this.
    """
    return Settings(store="memory", engines=("fake",), state_dir=str(tmp_path / "state"), log_level="error")


@pytest.fixture
async def plane(settings: Settings) -> AsyncIterator[Plane]:
    """
    The control plane.
    """
    async with control_plane(settings) as running:
        yield running


@pytest.fixture
async def http(plane: Plane) -> AsyncIterator[httpx2.AsyncClient]:
    """
    A client of it, from this machine.
    """
    async with client_of(plane.app) as client:
        assert str(client.base_url).rstrip("/") == ADDRESS
        yield client


@pytest.fixture
async def port(plane: Plane) -> AsyncIterator[int]:
    """
    The control plane behind a real server.
    """
    async with served(plane.app) as (port, _):
        yield port
