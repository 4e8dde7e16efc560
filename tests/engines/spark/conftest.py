"""
The fixtures of this folder.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from spark_lab import SparkLab


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[SparkLab]:
    """
    A fresh lab with its engine open, cleaned up by pid.
    """
    made = SparkLab(tmp_path)
    await made.engine.open(lambda handle: None)
    try:
        yield made
    finally:
        await made.clean()
