"""
The store contract over every adapter.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from standfast.ports.clock import Clock
from standfast.stores.memory.store import MemoryStore
from standfast.stores.sqlite.store import SqliteStore
from standfast.testing.contracts.histories import Subject
from standfast.testing.contracts.store import CASES, Case


def memory(folder: Path) -> Subject:
    """
    The store in this process's memory; several may be opened, each is empty.
    """
    return Subject(open=lambda clock: MemoryStore(), durable=False)


def sqlite(folder: Path) -> Subject:
    """
    A file in a fresh folder.
    """

    def opened(clock: Clock) -> SqliteStore:
        return SqliteStore(folder / "standfast.db", clock)

    return Subject(open=opened, durable=True)


@pytest.mark.parametrize("make", [memory, sqlite], ids=["memory", "sqlite"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
async def test_store_contract(case: Case, make: Callable[[Path], Subject], tmp_path: Path) -> None:
    """
    Each case's docstring is the fact.
    """
    await case(make(tmp_path))
