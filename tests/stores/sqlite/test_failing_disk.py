"""
A disk that is full or broken fails the callers it concerns, and nothing else; afterwards the store works again.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from faulty_disk import FaultyDisk

from standfast.core.errors import Unavailable
from standfast.core.job.inputs import Cancel
from standfast.core.job.machine import step
from standfast.core.job.state import Job
from standfast.ports.store import Query
from standfast.stores.sqlite.store import SqliteStore
from standfast.testing.contracts.cases import all_jobs, counts_by_phase
from standfast.testing.contracts.histories import Desk, HandClock

pytestmark = pytest.mark.usefixtures("each_way")

CODES = {apsw.FullError: "store_full", apsw.IOError: "store_unavailable"}


@pytest.mark.parametrize("where", ["write_error", "sync_error"])
@pytest.mark.parametrize("kind", CODES, ids=lambda kind: kind.__name__)
async def test_a_failed_commit_fails_its_whole_batch(where: str, kind: type[Exception], tmp_path: Path) -> None:
    """
    Every caller of the batch hears of it, nothing of it is stored, reads go on, and the next commit works.
    """
    disk = FaultyDisk(f"{where}-{kind.__name__}")
    clock = HandClock()
    store = SqliteStore(tmp_path / "standfast.db", clock, vfs=disk.name)
    await store.begin(clock.now())
    desk = Desk(store, clock)
    there = await desk.launched(queue="night")
    setattr(disk, where, lambda: kind("the disk says no"))
    calls = [store.commit([desk.opening(queue="new")]) for _ in range(5)]
    calls.append(store.commit([step(there, Cancel(by="ann"), clock.now())]))
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert [getattr(answer, "code", answer) for answer in answers] == [CODES[kind]] * 6
    assert len({id(answer) for answer in answers}) == 6
    assert await store.load([there.uid]) == [there]
    assert await store.newest_seq() == 2
    assert counts_by_phase(await store.slots()) == {"launching": 1}
    setattr(disk, where, None)
    later = await desk.submitted(queue="new")
    assert await desk.told(there, Cancel(by="ann"))
    assert [one.seq for one in await store.events()] == [1, 2, 3, 4]
    assert counts_by_phase(await store.slots()) == {"queued": 1, "stopping": 1}
    await store.close()
    again = SqliteStore(tmp_path / "standfast.db", clock)
    await again.begin(clock.now())
    assert [job.uid for job in await all_jobs(again, Query())] == [later.uid, there.uid]
    assert counts_by_phase(await again.slots()) == {"queued": 1, "stopping": 1}
    await again.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """
    A real file system of 3 MiB.
    """
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], check=False)
    if mounted.returncode != 0:
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.root
async def test_a_full_disk_is_told_and_survived(small_disk: Path) -> None:
    """
    On a file system that is really full commits fail with `store_full`, reads go on, and with space they work again.
    """
    clock = HandClock()
    store = SqliteStore(small_disk / "standfast.db", clock)
    await store.begin(clock.now())
    desk = Desk(store, clock)
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(3 << 19))
    made: list[Job] = []
    with pytest.raises(Unavailable) as failed:  # noqa: PT012 - until it raises
        while True:
            made.append(await desk.submitted(program={"padding": "x" * 50_000}))
    assert failed.value.code == "store_full"
    assert len(made) > 5
    with pytest.raises(Unavailable):
        await desk.submitted(program={"padding": "x" * 50_000})
    assert sorted(job.uid for job in await all_jobs(store, Query())) == [job.uid for job in made]
    assert counts_by_phase(await store.slots()) == {"queued": len(made)}
    ballast.unlink()
    made.append(await desk.submitted(program={"padding": "x" * 50_000}))
    await store.close()
    again = SqliteStore(small_disk / "standfast.db", clock)
    await again.begin(clock.now())
    assert sorted(job.uid for job in await all_jobs(again, Query())) == [job.uid for job in made]
    await again.close()
