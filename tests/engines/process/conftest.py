"""
The fixtures of this folder: a lab, once for each way in which a keeper can come about.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from process_lab import Lab

from standfast.engines.process.spawner import Spawner


@pytest.fixture(scope="session")
def fork_server() -> Iterator[Spawner]:
    """
    One fork server for all tests, as for all launches of a control plane.
    """
    spawner = Spawner()
    try:
        yield spawner
    finally:
        spawner.close()


@pytest.fixture(params=["plain", "forked"])
def lab(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Lab]:
    """
    A fresh lab, cleaned up by pid.
    """
    if request.param == "forked":
        made = Lab(tmp_path, request.getfixturevalue("fork_server"))
    else:
        made = Lab(tmp_path)
    try:
        yield made
    finally:
        made.clean()


@pytest.fixture
def plain_lab(tmp_path: Path) -> Iterator[Lab]:
    """
    For what has nothing to do with how a keeper comes about, or needs another keeper's code.
    """
    made = Lab(tmp_path)
    try:
        yield made
    finally:
        made.clean()
