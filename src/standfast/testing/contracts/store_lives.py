"""
The store contract: epochs, closing and opening, callers that go away.
"""

from __future__ import annotations

import asyncio
import random

from standfast.core.job.machine import step
from standfast.ports.store import Query
from standfast.testing import builders
from standfast.testing.contracts.cases import Cases, all_jobs, counts_by_phase, desk_at, everything_in, wander
from standfast.testing.contracts.histories import Desk, HandClock, Subject, Wanderer, uid_of

CASES = Cases()


@CASES.case
async def fences_grow_and_outages_are_remembered(subject: Subject) -> None:
    """
    Each epoch's fence is one above the last; the times between a last sign of life and the next epoch are its outages,
    as far back as there are unfinished jobs.
    """
    clock = HandClock()
    store = subject.open(clock)
    first = await store.begin(clock.now())
    assert first.outages == ()
    desk = Desk(store, clock)
    await desk.submitted()
    seen_at = clock.now()
    fences = [first.fence]
    begun = []
    for _ in range(2):
        if subject.durable:
            await store.close()
            store = subject.open(clock)
        begun.append(clock.pass_s(100))
        epoch = await store.begin(clock.now())
        fences.append(epoch.fence)
    assert fences == [first.fence, first.fence + 1, first.fence + 2]
    assert [(outage.begin, outage.end) for outage in epoch.outages] == [(seen_at, begun[0]), (begun[0], begun[1])]
    await store.close()


@CASES.case
async def closing_and_opening_again_loses_nothing(subject: Subject) -> None:
    """
    A durable store answers everything as before when it is opened again, and goes on numbering where it stopped.
    """
    if not subject.durable:
        return
    clock = HandClock()
    store = subject.open(clock)
    await store.begin(clock.now())
    wanderer = Wanderer(random.Random(11), clock)
    for _ in range(60):
        await wander(store, wanderer)
    before = await everything_in(store, clock)
    newest = await store.newest_seq()
    await store.close()
    store = subject.open(clock)
    await store.begin(clock.now())
    assert await everything_in(store, clock) == before
    opening = step(None, builders.submit(uid=uid_of(999), request_id="after"), clock.now())
    assert await store.commit([opening]) == [opening.after]
    assert await store.newest_seq() == newest + 1
    await store.close()


@CASES.case
async def a_caller_that_goes_away_breaks_nobody(subject: Subject) -> None:
    """
    Of callers that commit at once, those cancelled while they wait leave the others' answers, the counters and the
    events right; what they asked for is either written whole or not at all.
    """
    async with desk_at(subject) as desk:
        for delay in range(4):
            openings = [desk.opening() for _ in range(9)]
            tasks = [asyncio.ensure_future(desk.store.commit([one])) for one in openings]
            for _ in range(delay):
                await asyncio.sleep(0)
            for task in tasks[::3]:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for opening, task in zip(openings, tasks, strict=True):
                assert task.cancelled() or task.result() == [opening.after]
        await desk.submitted()
        jobs = await all_jobs(desk.store, Query())
        assert counts_by_phase(await desk.store.slots()) == {"queued": len(jobs)}
        assert sorted(one.uid for one in await desk.store.events()) == sorted(job.uid for job in jobs)
