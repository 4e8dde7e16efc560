"""
Folders and control planes for crash tests, ended by pid whatever happens.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from plane import Plane, end_jobs


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[Plane]:
    """
    A control plane on a fresh folder; after the test nothing that it started is alive.
    """
    made = Plane(tmp_path)
    yield made
    made.kill()
    end_jobs(tmp_path)
