"""
Blobs that no job names go, in time; whatever anybody may name stays.
"""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from runtime_bench import Bench

from standfast.core.errors import NotFound, Unavailable
from standfast.core.failure import Failure, FailureClass
from standfast.core.job.attempt import handle_of
from standfast.core.job.evidence import Ending, Finding, Rank, Verdict
from standfast.core.job.observation import Ended
from standfast.core.retry import RetryPolicy
from standfast.runtime.archive import archived
from standfast.runtime.turn import Told
from standfast.runtime.unclaimed import Unclaimed

LONG = "x" * 5000


async def _round(unclaimed: Unclaimed) -> int:
    """
    One whole round of pages.
    """
    removed = await unclaimed.collect()
    while unclaimed._after:
        removed += await unclaimed.collect()
    return removed


async def _is_there(plane: Bench, digest: str) -> bool:
    try:
        await plane.world.blobs.get(digest)
    except NotFound:
        return False
    return True


def _told(plane: Bench, uid: str, handle: str, *, incarnation: str = "", gone: Verdict = Verdict.PROVEN) -> Told:
    """
    An end whose source is too long for a record.
    """
    failure = Failure.of(FailureClass.DEPENDENCY, "test", "it may be tried again")
    finding = Finding(rank=Rank.EXIT_STATUS, ending=Ending.FAILED, source="exit status", failure=failure, raw=LONG)
    now = plane.world.clock.now()
    ended = Ended(at=now, by="test", incarnation=incarnation, findings=(finding,), gone=gone, gone_source="test")
    return Told(uid, handle, ended)


async def test_what_a_crash_left_goes_in_the_second_round(plane: Bench) -> None:
    """
    Put before a crash and named by nobody since: seen in one round, removed in the next; also of a job that is gone.
    """
    job = await plane.final(await plane.submit(program={"run_s": 0}))
    left = [
        await plane.world.blobs.put(f"{handle} exit status\n\n{LONG}".encode())
        for handle in (job.attempt.handle, handle_of(plane.world.ids.job_uid(), 1))
    ]
    unclaimed = Unclaimed(plane.world, every_s=0)

    assert await _round(unclaimed) == 0
    assert [await _is_there(plane, digest) for digest in left] == [True, True]
    assert await _round(unclaimed) == 2
    assert [await _is_there(plane, digest) for digest in left] == [False, False]


async def test_a_round_begins_an_hour_after_the_last(plane: Bench) -> None:
    """
    Without that pause nothing is removed, so that a commit under way has all the time it may need.
    """
    left = await plane.world.blobs.put(f"{handle_of(plane.world.ids.job_uid(), 1)} exit status\n\n{LONG}".encode())
    unclaimed = Unclaimed(plane.world)

    for _ in range(5):
        assert await unclaimed.collect() == 0

    assert await _is_there(plane, left)


async def test_what_the_record_or_the_history_names_stays(plane: Bench) -> None:
    """
    A blob of a finished job's evidence, one that a standing doubt rests on, and one that only a past doubt rested on.
    """
    uid = await plane.submit(program={"run_s": 600}, retry=RetryPolicy(max_attempts=3))
    job = await plane.until(uid, lambda job: job.phase == "running")
    lane = plane.loop._lanes["fake"]
    told = _told(plane, uid, job.attempt.handle, incarnation=job.attempt.incarnation, gone=Verdict.UNKNOWN)
    lane.tell([told])
    doubtful = await plane.until(uid, lambda job: job.phase == "uncertain")
    assert doubtful.uncertain is not None and doubtful.uncertain.end is not None
    (digest,) = [one.blob for one in doubtful.uncertain.end.evidence if one.blob]
    unclaimed = Unclaimed(plane.world, every_s=0, page=1)

    for _ in range(3):
        assert await _round(unclaimed) == 0
    assert await _is_there(plane, digest)

    cleared = msgspec.structs.replace(doubtful, uncertain=None)
    assert await unclaimed._names(cleared, digest)
    assert not await unclaimed._names(cleared, digest[:-1] + "!")


async def test_what_is_being_committed_stays(plane: Bench) -> None:
    """
    A store that takes nothing for hours: the blob is put again with every try, and so is never taken for forgotten.
    """
    uid = await plane.submit(program={"run_s": 600})
    job = await plane.until(uid, lambda job: job.phase == "running")
    unclaimed = Unclaimed(plane.world, every_s=0)
    told = [_told(plane, uid, job.attempt.handle)]

    for _ in range(4):
        told = await archived(plane.world, told)
        assert await _round(unclaimed) == 0

    given = told[0].given
    assert isinstance(given, Ended)
    assert (await plane.world.blobs.get(given.findings[0].blob or "")).decode().endswith(LONG)
    # Tried no more, it is forgotten.
    assert await _round(unclaimed) == 1


async def test_a_store_without_an_answer_removes_nothing(plane: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Not known is not unnamed: the same page is looked at again.
    """
    left = await plane.world.blobs.put(f"{handle_of(plane.world.ids.job_uid(), 1)} exit status\n\n{LONG}".encode())
    unclaimed = Unclaimed(plane.world, every_s=0)
    await _round(unclaimed)

    async def load(uids: object) -> list[object]:
        raise Unavailable("no answer")

    with monkeypatch.context() as patch:
        patch.setattr(plane.world.store, "load", load)
        with pytest.raises(Unavailable):
            await unclaimed.collect()
    assert await _is_there(plane, left)
    assert await _round(unclaimed) == 1


async def test_what_is_not_from_here_stays(plane: Bench) -> None:
    """
    Bytes that do not say what attempt they are of are nobody's to remove.
    """
    kept = [await plane.world.blobs.put(data) for data in (b"", b"a long tale", b"\xff" * 300)]
    unclaimed = Unclaimed(plane.world, every_s=0)

    assert [await _round(unclaimed) for _ in range(3)] == [0, 0, 0]
    assert all([await _is_there(plane, digest) for digest in kept])


async def test_many_are_looked_at_page_by_page(plane: Bench) -> None:
    """
    One call looks at no more than a page, and a round of all pages misses none.
    """
    handles = [handle_of(plane.world.ids.job_uid(), 1) for _ in range(25)]
    for handle in handles:
        await plane.world.blobs.put(f"{handle} exit status\n\n{LONG}".encode())
    unclaimed = Unclaimed(plane.world, every_s=0, page=10)

    assert [await unclaimed.collect() for _ in range(6)] == [0, 0, 0, 10, 10, 5]
    assert await plane.world.blobs.page(limit=100) == []


async def test_the_sweep_does_so_by_itself(plane: Bench) -> None:
    """
    Nobody need ask: the running loop collects beside its sweep.
    """
    left = await plane.world.blobs.put(f"{handle_of(plane.world.ids.job_uid(), 1)} exit status\n\n{LONG}".encode())
    plane.loop._sweep._unclaimed._every_s = 0

    async with asyncio.timeout(10):
        while await _is_there(plane, left):
            await asyncio.sleep(0.02)
