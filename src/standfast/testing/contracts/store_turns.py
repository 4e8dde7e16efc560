"""
The store contract: whose turn it is, and who is watched.
"""

from __future__ import annotations

from datetime import timedelta

from standfast.core.job.inputs import Cancel, Due
from standfast.core.job.machine import step
from standfast.core.job.state import Phase
from standfast.testing import builders
from standfast.testing.contracts.cases import Cases, desk_at, path_to
from standfast.testing.contracts.histories import Subject, uid_of

CASES = Cases()


@CASES.case
async def due_gives_the_earliest_first(subject: Subject) -> None:
    """
    Jobs come by wake time up to and including now, then the next wake time behind them; running jobs that nothing
    wakes do not come at all.
    """
    async with desk_at(subject) as desk:
        early, late = await desk.launched(), await desk.launched()
        await desk.told(await desk.launched(), builders.present())
        assert early.wake_at is not None and late.wake_at is not None
        none = await desk.store.due(early.wake_at - timedelta(microseconds=1), limit=10)
        assert (none.jobs, none.next_at) == ([], early.wake_at)
        one = await desk.store.due(early.wake_at, limit=10)
        assert (one.jobs, one.next_at) == ([early], late.wake_at)
        both = await desk.store.due(late.wake_at, limit=10)
        assert (both.jobs, both.next_at) == ([early, late], None)


@CASES.case
async def due_stops_at_its_limit_and_leaves_out_who_is_skipped(subject: Subject) -> None:
    """
    With more due than asked for, `next_at` is the wake time of the first left out; skipped jobs count for nothing.
    """
    async with desk_at(subject) as desk:
        jobs = [await desk.launched() for _ in range(4)]
        now = desk.clock.pass_s(3600)
        found = await desk.store.due(now, limit=2)
        assert (found.jobs, found.next_at) == (jobs[:2], jobs[2].wake_at)
        found = await desk.store.due(now, limit=2, skip={jobs[0].uid, jobs[2].uid})
        assert (found.jobs, found.next_at) == ([jobs[1], jobs[3]], None)
        found = await desk.store.due(now, limit=4, skip=[job.uid for job in jobs])
        assert (found.jobs, found.next_at) == ([], None)


@CASES.case
async def queued_jobs_come_by_priority_then_age(subject: Subject) -> None:
    """
    `queued` gives the higher priority first and the older first among equals, of that engine and queue alone.
    """
    async with desk_at(subject) as desk:
        low = await desk.submitted(priority=-5)
        old, young = await desk.submitted(), await desk.submitted()
        high = await desk.submitted(priority=5)
        await desk.submitted(queue="night")
        await desk.submitted(engine="process")
        await desk.launched()
        now = desk.clock.now()
        assert await desk.store.queued(now, engine="fake", queue="default", limit=10) == [high, old, young, low]
        assert await desk.store.queued(now, engine="fake", queue="default", limit=2) == [high, old]
        assert await desk.store.queued(now, engine="spark", queue="default", limit=2) == []
        assert (await desk.store.due(now, limit=10)).jobs == []


@CASES.case
async def a_start_time_keeps_a_job_back(subject: Subject) -> None:
    """
    Until its start time a queued job is not in `queued`; at that time it is, in its place, and `due` gives it once, so
    that it moves on.
    """
    async with desk_at(subject) as desk:
        start_at = desk.clock.now() + timedelta(seconds=100)
        held = await desk.submitted(priority=9, start_at=start_at)
        other = await desk.submitted()
        now = desk.clock.now()
        assert await desk.store.queued(now, engine="fake", queue="default", limit=9) == [other]
        assert await desk.store.ahead(other) == 0
        assert (await desk.store.due(now, limit=9)).next_at == start_at
        assert await desk.store.queued(start_at, engine="fake", queue="default", limit=9) == [held, other]
        assert (await desk.store.due(start_at, limit=9)).jobs == [held]
        awake = await desk.commit(step(held, Due(), start_at))
        assert awake.wake_at is None
        assert (await desk.store.due(start_at, limit=9)).jobs == []
        assert await desk.store.queued(start_at, engine="fake", queue="default", limit=9) == [awake, other]
        assert await desk.store.ahead(other) == 1


@CASES.case
async def ahead_counts_who_stands_before(subject: Subject) -> None:
    """
    `ahead` counts queued jobs of the same engine and queue with a higher priority, or as high and older.
    """
    async with desk_at(subject) as desk:
        old, young = await desk.submitted(), await desk.submitted()
        high, low = await desk.submitted(priority=1), await desk.submitted(priority=-1)
        await desk.submitted(queue="night", priority=9)
        assert [await desk.store.ahead(job) for job in (high, old, young, low)] == [0, 1, 2, 3]
        await desk.told(old, Cancel(by="ann"))
        assert await desk.store.ahead(young) == 1


@CASES.case
async def watched_names_the_latest_attempt_of_who_may_be_alive(subject: Subject) -> None:
    """
    `watched` has every job in a phase that holds a slot, under its latest handle, and no other.
    """
    async with desk_at(subject) as desk:
        for number, phase in enumerate(Phase, start=1):
            built = builders.job(phase, attempts=2, uid=uid_of(number))
            await desk.store.commit(path_to(built))
        found = {one.uid: one for one in await desk.store.watched()}
        jobs = await desk.store.load([uid_of(number) for number in range(1, len(Phase) + 1)])
        assert len(jobs) == len(Phase)
        assert sorted(found) == [job.uid for job in jobs if job.phase.holds_slot]
        for job in jobs:
            if job.phase.holds_slot:
                one = found[job.uid]
                assert (one.engine, one.handle, one.phase) == (job.spec.engine, job.attempt.handle, job.phase)
