"""
Where COMMIT runs, pinned: by itself the store goes by how quick the disk has been.
"""

from __future__ import annotations

import pytest
from flushing import WAYS

from standfast.stores.sqlite import committer


@pytest.fixture(params=WAYS)
def each_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """
    The test runs twice: every COMMIT in the thread, and every COMMIT on the loop.
    """
    _pin(monkeypatch, request.param)
    return str(request.param)


@pytest.fixture
def in_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Every COMMIT in the thread, so that one can be held back.
    """
    _pin(monkeypatch, "thread")


def _pin(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    wary, quick_s = WAYS[way]
    monkeypatch.setattr(committer, "WARY", wary)
    monkeypatch.setattr(committer, "QUICK_S", quick_s)
