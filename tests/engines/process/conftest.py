"""
The one fixture of this folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from process_lab import Lab


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """
    A fresh lab, cleaned up by pid.
    """
    made = Lab(tmp_path)
    try:
        yield made
    finally:
        made.clean()
