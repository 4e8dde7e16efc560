"""
How callers share a flush, and what keeps one of them from harming another.
"""

from __future__ import annotations

import asyncio
import math
import sqlite3
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import msgspec
import pytest

from standfast.core.errors import IllegalTransition, Unavailable
from standfast.core.job.inputs import Admit, Cancel
from standfast.core.job.machine import Step, step
from standfast.core.job.state import Job, Phase
from standfast.ports.store import Query
from standfast.stores.sqlite import committer
from standfast.stores.sqlite import store as store_module
from standfast.stores.sqlite.store import SqliteStore
from standfast.testing.builders import LIFE, ended, present
from standfast.testing.contracts.cases import all_jobs, counts_by_phase
from standfast.testing.contracts.histories import Desk, HandClock


class Gate:
    """
    A failpoint that counts COMMITs and can hold one back.
    """

    def __init__(self) -> None:
        self.commits = self.done = 0
        self.open = threading.Event()
        self.open.set()

    def __call__(self, name: str) -> None:
        if name == "commit.before":
            self.commits += 1
            assert self.open.wait(30)
        else:
            self.done += 1


@pytest.fixture
def gate() -> Gate:
    """
    Open, nothing counted.
    """
    return Gate()


@pytest.fixture
async def desk(tmp_path: Path, gate: Gate, in_thread: None) -> AsyncIterator[Desk]:
    """
    A desk at a fresh store.
    """
    clock = HandClock()
    store = SqliteStore(tmp_path / "standfast.db", clock, failpoint=gate)
    await store.begin(clock.now())
    gate.commits = 0
    yield Desk(store, clock)
    gate.open.set()
    await store.close()


async def test_callers_of_one_moment_share_one_flush(desk: Desk, gate: Gate) -> None:
    """
    A hundred concurrent commits cost one COMMIT; those that come while it is out share the next.
    """
    await asyncio.gather(*(desk.store.commit([desk.opening()]) for _ in range(100)))
    assert gate.commits == 1
    gate.open.clear()
    first = asyncio.ensure_future(desk.submitted())
    while gate.commits == 1:
        await asyncio.sleep(0)
    rest = [asyncio.ensure_future(desk.submitted()) for _ in range(50)]
    await asyncio.sleep(0)
    assert not first.done()
    gate.open.set()
    await asyncio.gather(first, *rest)
    assert gate.commits == 3


async def test_a_batch_has_its_bound(desk: Desk, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    At most `BATCH_MAX` steps share a flush; the steps of one call stay together.
    """
    monkeypatch.setattr(committer, "BATCH_MAX", 10)
    await asyncio.gather(*(desk.store.commit([desk.opening() for _ in range(4)]) for _ in range(5)))
    assert gate.commits == 3
    await desk.store.commit([desk.opening() for _ in range(25)])
    assert gate.commits == 4


async def test_nothing_is_visible_before_it_is_durable(desk: Desk, gate: Gate) -> None:
    """
    While a COMMIT is out, neither the job nor its event nor its counter can be read, and reading does not wait for it.
    """
    gate.open.clear()
    opening = desk.opening()
    writing = asyncio.ensure_future(desk.store.commit([opening]))
    while gate.commits == 0:
        await asyncio.sleep(0)
    assert await desk.store.load([opening.after.uid]) == []
    assert await desk.store.events() == []
    assert await desk.store.newest_seq() == 0
    assert await desk.store.slots() == []
    assert not writing.done()
    gate.open.set()
    assert await writing == [opening.after]


async def test_a_batch_that_changes_nothing_flushes_nothing(desk: Desk, gate: Gate) -> None:
    """
    Repeats and losers cost no COMMIT on the disk.
    """
    job = await desk.submitted(request_id="same")
    lost = step(job, Cancel(by="ann"), desk.clock.now())
    await desk.commit(lost)
    flushed = gate.commits
    await asyncio.gather(*(desk.store.commit([desk.opening(request_id="same"), lost]) for _ in range(20)))
    assert gate.commits == flushed


async def test_a_busy_loop_does_not_starve_the_commit(desk: Desk) -> None:
    """
    While the loop never sleeps, commits still go through at a rate.
    """
    busy = True

    async def burn() -> None:
        while busy:
            until = time.perf_counter() + 0.0002
            while time.perf_counter() < until:
                pass
            await asyncio.sleep(0)

    burning = asyncio.ensure_future(burn())
    begun = time.perf_counter()
    for _ in range(20):
        await desk.submitted()
    passed_s = time.perf_counter() - begun
    busy = False
    await burning
    # A thread that starves takes seconds for each, where it does; how often it starves depends on the machine.
    assert passed_s < 5


@pytest.mark.parametrize(
    "wrong",
    [
        {"phase": Phase.FAILED},
        {"finished_at": HandClock().now()},
        {"phase": Phase.RUNNING},
        {"revision": 0},
        {"wake_at": HandClock().now()},
    ],
    ids=str,
)
async def test_a_step_that_breaks_an_invariant_harms_nobody_else(desk: Desk, wrong: dict[str, object]) -> None:
    """
    A job that no machine makes is refused by the file's own constraints, as a bug of ours; its neighbours in the batch
    are written, each as if alone.
    """
    bad = desk.opening()
    bad = msgspec.structs.replace(bad, after=msgspec.structs.replace(bad.after, **wrong))
    calls = [desk.store.commit([desk.opening(queue="new")]) for _ in range(3)]
    calls.insert(1, desk.store.commit([desk.opening(), bad]))
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(answer) for answer in answers] == [list, IllegalTransition, list, list]
    assert counts_by_phase(await desk.store.slots()) == {"queued": 3}
    assert [one.seq for one in await desk.store.events()] == [1, 2, 3]
    assert len(await all_jobs(desk.store, Query())) == 3


async def test_a_finished_job_keeps_its_phase(desk: Desk) -> None:
    """
    The file refuses to move a finished job, and to rewrite or drop its events while it is there.
    """
    done = await desk.finished()
    back = msgspec.structs.replace(done, phase=Phase.RUNNING, outcome=None, finished_at=None)
    forged = Step(done, desk.opening().events, back, desk.opening().action, desk.clock.now())
    with pytest.raises(IllegalTransition, match="keeps its phase"):
        await desk.store.commit([forged])
    assert await desk.store.load([done.uid]) == [done]


async def test_the_file_keeps_its_events(desk: Desk, tmp_path: Path) -> None:
    """
    Whoever opens the file with another program cannot rewrite or drop an event, nor drop an unfinished job.
    """
    await desk.launched()
    await desk.store.close()
    db = sqlite3.connect(tmp_path / "standfast.db")
    for sql in (
        "UPDATE events SET actor = 'nobody'",
        "DELETE FROM events",
        "DELETE FROM jobs",
        "UPDATE jobs SET attempt = 0",
        "UPDATE jobs SET finished_at = 1",
    ):
        with pytest.raises(sqlite3.IntegrityError):
            db.execute(sql)
    db.close()


@pytest.mark.parametrize(("quick_s", "where"), [(0.0, "ttlttlttl"), (math.inf, "ttlllllll")], ids=["slow", "quick"])
async def test_a_slow_disk_is_waited_for_in_the_thread(
    quick_s: float, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The loop itself flushes while that is quick; after a slow flush the thread does the next few, and then it is tried.
    """
    monkeypatch.setattr(committer, "WARY", 2)
    monkeypatch.setattr(committer, "QUICK_S", quick_s)
    went: list[str] = []

    def note(name: str) -> None:
        if name == "commit.before":
            went.append("l" if threading.current_thread() is threading.main_thread() else "t")

    clock = HandClock()
    store = SqliteStore(tmp_path / "standfast.db", clock, failpoint=note)
    await store.begin(clock.now())
    desk = Desk(store, clock)
    for _ in range(8):
        await desk.submitted()
    assert "".join(went) == where
    await store.close()


async def test_a_locked_file_is_waited_for(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    While another program holds SQLite's own lock a commit waits, for a bounded time; then it is `store_busy`.
    """
    monkeypatch.setattr(committer, "BUSY_S", 0.001)
    other = apsw.Connection(str(tmp_path / "standfast.db"))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable) as refused:
        await desk.submitted()
    assert refused.value.code == "store_busy"
    waiting = asyncio.ensure_future(desk.submitted())
    await asyncio.sleep(0.01)
    assert not waiting.done()
    other.execute("ROLLBACK")
    other.close()
    assert isinstance(await waiting, Job)


async def test_a_sign_of_life_is_written_while_jobs_are_unfinished(
    desk: Desk, gate: Gate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    An idle store with unfinished jobs notes the time now and then, and one without writes nothing.
    """
    monkeypatch.setattr(store_module, "BEAT_S", 0.001)
    assert isinstance(desk.store, SqliteStore)
    await desk.store.begin(desk.clock.now())
    flushed = gate.commits
    await asyncio.sleep(0.02)
    assert gate.commits == flushed
    job = await desk.launched()
    now, flushed = desk.clock.pass_s(500), gate.done
    while gate.done == flushed:
        await asyncio.sleep(0.001)
    reader = apsw.Connection(str(tmp_path / "standfast.db"))
    (seen_us,) = reader.execute("SELECT seen_at FROM epochs ORDER BY fence DESC LIMIT 1").fetchall()[0]
    reader.close()
    assert seen_us == now.timestamp() * 1_000_000
    assert await desk.store.load([job.uid]) == [job]


async def test_a_bug_in_one_call_is_told_to_it_alone(desk: Desk) -> None:
    """
    Steps that cannot even be written down fail their caller with the very error, and nobody waits for ever.
    """
    bad = msgspec.structs.replace(desk.opening(), events=("not an event",))
    bad = msgspec.structs.replace(bad, at="not a time")
    calls = [desk.store.commit([one]) for one in (desk.opening(), bad, desk.opening())]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(answer) for answer in answers] == [list, TypeError, list]
    assert [one.seq for one in await desk.store.events()] == [1, 2]


async def test_a_finished_job_has_a_bounded_size(desk: Desk, tmp_path: Path) -> None:
    """
    At most 2 kB on disk for a finished job with four events and all indexes.
    """
    openings = [desk.opening(program={"argv": ["/bin/true", "--input", "s3://bucket/key"]}) for _ in range(1000)]
    now = desk.clock.now()
    jobs = await desk.store.commit(openings)
    for given in (Admit(incarnation=LIFE), present(now, started_at=now), ended(now, ended_at=now)):
        jobs = await desk.store.commit([step(job, given, now) for job in jobs if isinstance(job, Job)])
    await desk.store.close()
    assert (tmp_path / "standfast.db").stat().st_size / 1000 < 2000
