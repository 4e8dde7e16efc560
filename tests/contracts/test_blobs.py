"""
The blobs contract over every adapter.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from standfast.stores.memory.blobs import MemoryBlobs
from standfast.stores.sqlite.blobs import FileBlobs
from standfast.testing.contracts.blobs import CASES, Case, Subject


def memory(folder: Path) -> Subject:
    """
    Bytes in this process's memory.
    """
    return Subject(open=MemoryBlobs, durable=False)


def files(folder: Path) -> Subject:
    """
    Files in a fresh folder.
    """

    def spoil(digest: str) -> None:
        (path,) = folder.rglob(digest.removeprefix("sha256:"))
        path.write_bytes(b"lies")

    return Subject(open=lambda: FileBlobs(folder / "blobs"), durable=True, spoil=spoil)


@pytest.mark.parametrize("make", [memory, files], ids=["memory", "files"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
async def test_blobs_contract(case: Case, make: Callable[[Path], Subject], tmp_path: Path) -> None:
    """
    Each case's docstring is the fact.
    """
    await case(make(tmp_path))
