"""
Blobs as files: what a put leaves on the disk when it does not come to its end.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from threading import Event

import pytest

from standfast.stores.sqlite import blobs as module
from standfast.stores.sqlite.blobs import FileBlobs


async def test_what_a_dead_put_left_is_dropped_by_the_next_process(tmp_path: Path) -> None:
    """
    A file under an unfinished name goes when names are listed; whole files, and files that are not ours, stay.
    """
    kept = await FileBlobs(tmp_path).put(b"whole")
    (part,) = tmp_path.iterdir()
    (part / ".half").write_bytes(b"who")
    (part / "notes").write_bytes(b"somebody's")
    (tmp_path / "README").write_bytes(b"somebody's")

    (listed,) = await FileBlobs(tmp_path).page(limit=10)

    assert listed.digest == kept
    assert sorted(path.name for path in part.iterdir()) == sorted([kept.removeprefix("sha256:"), "notes"])


async def test_a_put_under_way_is_not_taken_for_a_dead_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Listing while a put is between writing and renaming does not disturb it.
    """
    written, go, real = Event(), Event(), module.os.fsync

    def fsync(descriptor: int) -> None:
        written.set()
        go.wait(10)
        real(descriptor)

    blobs = FileBlobs(tmp_path)
    await blobs.put(b"warm")
    monkeypatch.setattr(module.os, "fsync", fsync)
    monkeypatch.setattr(module, "sync_folder", lambda folder: None)
    putting = asyncio.create_task(blobs.put(b"slow"))
    await asyncio.to_thread(written.wait, 10)

    assert len(await blobs.page(limit=10)) == 1

    go.set()
    assert await blobs.get(await putting) == b"slow"
