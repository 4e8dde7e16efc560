"""
What was acknowledged survives a killed process and a lost supply, whatever reached the disk beyond the last flush.
"""

from __future__ import annotations

import asyncio
import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from faulty_disk import FaultyDisk
from flushing import WAYS

from standfast.core.job.state import Job
from standfast.ports.store import Query
from standfast.stores.sqlite.store import SqliteStore
from standfast.testing.contracts.cases import all_jobs
from standfast.testing.contracts.histories import Desk, HandClock


@pytest.mark.parametrize("seed", range(6))
async def test_power_loss_takes_nothing_acknowledged(seed: int, tmp_path: Path) -> None:
    """
    When the power goes before some flush, the store opens again with every acknowledged job as it was answered or
    further on, with whole events and right counters.
    """
    dice = random.Random(seed)
    disk = FaultyDisk(f"power-{seed}")
    before, after = tmp_path / "before", tmp_path / "after"
    after.mkdir()
    clock = HandClock()
    store = SqliteStore(before / "standfast.db", clock, vfs=disk.name)
    await store.begin(clock.now())
    acknowledged: dict[str, Job] = {}
    expected: dict[str, Job] = {}
    flushes = dice.randint(3, 90)

    def cut() -> None:
        nonlocal flushes
        flushes -= 1
        if flushes == 0:
            expected.update(acknowledged)
            disk.after_power_loss(after, dice)

    disk.before_sync = cut

    async def caller(number: int) -> None:
        desk = Desk(store, clock)
        desk._number = number * 1000
        while flushes > 0:
            job = await desk.submitted(program={"padding": "x" * dice.randint(0, 60_000)})
            acknowledged[job.uid] = job

    await asyncio.gather(*(caller(number) for number in range(1, 4)))
    await store.close()

    _is_sound(after / "standfast.db")
    again = SqliteStore(after / "standfast.db", clock)
    await again.begin(clock.now())
    found = {job.uid: job for job in await all_jobs(again, Query())}
    assert expected
    assert expected.items() <= found.items()
    assert sum(slot.count for slot in await again.slots()) == len(found)
    events = await again.events(limit=100_000)
    assert sorted(one.uid for one in events) == sorted(found)
    assert await again.newest_seq() == (events[-1].seq if events else 0)
    await again.close()


_WRITER = """
import asyncio, os, signal, sys
from pathlib import Path
from standfast.stores.sqlite import committer
from standfast.stores.sqlite.store import SqliteStore
from standfast.testing.contracts.histories import Desk, HandClock

left = int(sys.argv[3])

def failpoint(name):
    global left
    if name == sys.argv[2]:
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

async def caller(store, clock, number):
    desk = Desk(store, clock)
    desk._number = number * 1000
    while True:
        job = await desk.launched()
        print(job.uid, job.revision, flush=True)

async def main():
    clock = HandClock()
    committer.WARY, committer.QUICK_S = int(sys.argv[4]), float(sys.argv[5])
    store = SqliteStore(Path(sys.argv[1]), clock, failpoint=failpoint)
    await store.begin(clock.now())
    await asyncio.gather(*(caller(store, clock, number) for number in range(8)))

asyncio.run(main())
"""


@pytest.mark.crash
@pytest.mark.parametrize("point", ["commit.before", "commit.after"])
async def test_a_killed_process_loses_nothing_acknowledged(point: str, each_way: str, tmp_path: Path) -> None:
    """
    After SIGKILL around a COMMIT the file opens at once, its lock is free, and every acknowledged job is there.
    """
    path = tmp_path / "standfast.db"
    arguments = [str(path), point, "25", *map(str, WAYS[each_way])]
    writer = subprocess.run(
        [sys.executable, "-c", _WRITER, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert writer.returncode == -signal.SIGKILL, writer.stderr
    acknowledged = [line.split() for line in writer.stdout.splitlines()]
    assert len(acknowledged) > 20
    clock = HandClock()
    store = SqliteStore(path, clock)
    assert (await store.begin(clock.now())).fence == 2
    found = {job.uid: job.revision for job in await all_jobs(store, Query())}
    for uid, revision in acknowledged:
        assert found[uid] >= int(revision)
    assert sum(slot.count for slot in await store.slots()) == len(found)
    assert await store.newest_seq() == sum(found.values())
    await store.close()
    _is_sound(path)


def _is_sound(path: Path) -> None:
    """
    Python's own SQLite finds nothing wrong with the file.
    """
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    db.close()
