"""
A running control plane in process for the tests of this folder.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from runtime_bench import Bench, bench


@pytest.fixture
async def plane() -> AsyncIterator[Bench]:
    """
    A running bench.
    """
    made = bench()
    await made.loop.start()
    yield made
    await made.loop.stop()
