"""
The store contract: counters, pages, finding and removing.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from standfast.core.job.inputs import Cancel
from standfast.core.job.machine import step
from standfast.core.job.state import Job, Phase
from standfast.ports.store import Page, Query
from standfast.testing import builders
from standfast.testing.contracts.cases import Cases, all_jobs, counts_by_phase, desk_at, wander
from standfast.testing.contracts.histories import Desk, HandClock, Store, Subject, Wanderer, uid_of

CASES = Cases()


@CASES.case
async def counters_equal_a_recount_after_any_history(subject: Subject) -> None:
    """
    After random histories with losers, repeats and removals, the kept counters equal a count of all jobs.
    """
    clock = HandClock()
    for seed in range(3):
        wanderer = Wanderer(random.Random(seed), clock)
        store = subject.open(clock)
        await store.begin(clock.now())
        for _ in range(60):
            await wander(store, wanderer)
            slots = await store.slots()
            assert all(slot.count > 0 for slot in slots), slots
        recount = Counter(
            (job.namespace, job.spec.engine, job.spec.queue, job.phase) for job in await all_jobs(store, Query())
        )
        assert {(s.namespace, s.engine, s.queue, s.phase): s.count for s in slots} == recount, f"seed {seed}"
        for job in await all_jobs(store, Query()):
            await _end(store, job, clock)
        assert await store.slots() == [], f"seed {seed}"
        await store.close()


@CASES.case
async def every_filter_gives_what_it_says(subject: Subject) -> None:
    """
    Each part of a query, and random combinations of them, give exactly the jobs that fit, the last accepted first.
    """
    async with desk_at(subject) as desk:
        wanderer = Wanderer(random.Random(5), desk.clock)
        for _ in range(80):
            await wander(desk.store, wanderer)
        everything = await all_jobs(desk.store, Query())
        opened = {one.uid: one.seq for one in reversed(await desk.store.events(limit=100_000))}
        assert [job.uid for job in everything] == sorted(opened, key=opened.__getitem__, reverse=True)
        assert {job.uid for job in everything} == set(wanderer.jobs)
        hits = 0
        for _ in range(300):
            query = wanderer.query()
            found = await all_jobs(desk.store, query)
            assert found == [job for job in everything if _fits(query, job)], query
            hits += bool(found) and len(found) < len(everything)
        assert hits > 30, "the questions were too easy"


@CASES.case
async def ranges_of_time_hold_when_times_are_out_of_order(subject: Subject) -> None:
    """
    Creation times pick the right jobs though they do not grow with the order of acceptance, nor with the uids, as after
    a clock was set back.
    """
    async with desk_at(subject) as desk:
        dice = random.Random(3)
        for number in dice.sample(range(60), 60):
            at = builders.START + timedelta(seconds=number + dice.choice([0, 0, 0, 20, -20]))
            command = builders.submit(uid=uid_of(number), request_id=f"request-{number}")
            await desk.commit(step(None, command, at))
        everything = await all_jobs(desk.store, Query())
        assert len(everything) == 60
        times = [job.created_at for job in everything]
        for _ in range(100):
            query = Query(created_after=dice.choice([None, *times]), created_before=dice.choice([None, *times]))
            found = await all_jobs(desk.store, query)
            assert found == [job for job in everything if _fits(query, job)], query


@CASES.case
async def pages_join_without_a_gap_or_a_repeat(subject: Subject) -> None:
    """
    Followed by `next_after`, pages give every job once, though new ones are made and others change meanwhile; the last
    page says so.
    """
    async with desk_at(subject) as desk:
        jobs = [await desk.submitted() for _ in range(10)]
        first = await desk.store.page(Query(), size=4)
        assert [job.uid for job in first.jobs] == [job.uid for job in jobs[:5:-1]]
        assert (first.next_after is None, first.seq) == (False, 10)
        await desk.submitted()
        await desk.told(jobs[2], Cancel(by="ann"))
        second = await desk.store.page(Query(), size=4, after=first.next_after)
        assert [job.uid for job in second.jobs] == [job.uid for job in jobs[5:1:-1]]
        third = await desk.store.page(Query(), size=4, after=second.next_after)
        assert [job.uid for job in third.jobs] == [jobs[1].uid, jobs[0].uid]
        assert (third.next_after, third.seq) == (None, 12)
        exact = await desk.store.page(Query(), size=11)
        assert (len(exact.jobs), exact.next_after) == (11, None)


@CASES.case
async def pages_under_concurrent_inserts_are_whole(subject: Subject) -> None:
    """
    While others insert and move jobs, following pages gives every job that was there before exactly once.
    """
    async with desk_at(subject) as desk:
        there = [await desk.submitted() for _ in range(30)]
        writing = asyncio.ensure_future(_insert_many(desk, 40))
        for query in (Query(), Query(namespace="default"), Query(not_phases=(Phase.FAILED,))):
            found: list[Job] = []
            page: Page | None = None
            while page is None or page.next_after is not None:
                page = await desk.store.page(query, size=7, after=page.next_after if page else None)
                found += page.jobs
                await asyncio.sleep(0)
            uids = [job.uid for job in found]
            assert len(set(uids)) == len(uids)
            assert uids[-30:] == [job.uid for job in reversed(there)]
        await writing


@CASES.case
async def find_gives_the_job_of_a_request_id(subject: Subject) -> None:
    """
    `find` gives the job as it is now, of that namespace only; None for an unknown one.
    """
    async with desk_at(subject) as desk:
        job = await desk.launched(request_id="mine")
        assert await desk.store.find("default", "mine") == job
        assert await desk.store.find("science", "mine") is None
        assert await desk.store.find("default", "other") is None


@CASES.case
async def removing_frees_the_request_id_and_keeps_the_gap(subject: Subject) -> None:
    """
    A removed job is gone with its events, from every answer; its request id is free, its numbers are not used again.
    """
    async with desk_at(subject) as desk:
        other = await desk.submitted()
        job = await desk.finished(request_id="mine")
        assert await desk.store.newest_seq() == 5
        assert await desk.store.remove(job.uid, revision=job.revision)
        assert not await desk.store.remove(job.uid, revision=job.revision)
        assert await desk.store.load([job.uid]) == []
        assert await desk.store.find("default", "mine") is None
        assert await desk.store.events(uid=job.uid) == []
        assert [one.seq for one in await desk.store.events()] == [1]
        assert (await desk.store.page(Query(), size=9)).jobs == [other]
        assert counts_by_phase(await desk.store.slots()) == {"queued": 1}
        assert await desk.store.newest_seq() == 5
        again = await desk.submitted(request_id="mine")
        assert [one.seq for one in await desk.store.events(uid=again.uid)] == [6]


@CASES.case
async def only_a_finished_job_of_that_revision_is_removed(subject: Subject) -> None:
    """
    `remove` of an unfinished, a changed, or an unknown job answers False and changes nothing.
    """
    async with desk_at(subject) as desk:
        running, done = await desk.launched(), await desk.finished()
        assert not await desk.store.remove(running.uid, revision=running.revision)
        assert not await desk.store.remove(done.uid, revision=done.revision - 1)
        assert not await desk.store.remove("job_unknown", revision=1)
        assert await desk.store.load([running.uid, done.uid]) == [running, done]
        assert await desk.store.newest_seq() == 6


@CASES.case
async def a_removal_and_its_job_may_share_a_moment(subject: Subject) -> None:
    """
    A last step and a removal asked for at once are applied in the order they were asked for.
    """
    async with desk_at(subject) as desk:
        job = await desk.submitted()
        end = step(job, Cancel(by="ann"), desk.clock.now())
        answers = await asyncio.gather(
            desk.store.commit([end]), desk.store.remove(job.uid, revision=2), desk.store.commit([desk.opening()])
        )
        assert answers[0] == [end.after]
        assert [one.uid for one in await desk.store.events()].count(job.uid) == (0 if answers[1] else 2)


async def _end(store: Store, job: Job, clock: HandClock) -> None:
    """
    Cancel the job, see it dead, remove its record.
    """
    for given in (
        Cancel(by="ann"),
        builders.absent(clock.now(), proven=True, final=True),
        builders.ended(clock.now(), stopped=True),
    ):
        if not job.phase.final:
            (answer,) = await store.commit([step(job, given, clock.pass_s(1000))])
            assert isinstance(answer, Job)
            job = answer
    assert await store.remove(job.uid, revision=job.revision)


async def _insert_many(desk: Desk, number: int) -> None:
    for _ in range(number):
        await desk.launched()


def _fits(query: Query, job: Job) -> bool:
    """
    The query, read literally.
    """
    checks: dict[str, Callable[[Any], bool]] = {
        "namespace": lambda want: job.namespace == want,
        "phases": lambda want: job.phase in want,
        "not_phases": lambda want: job.phase not in want,
        "engines": lambda want: job.spec.engine in want,
        "queue": lambda want: job.spec.queue == want,
        "labels": lambda want: want.items() <= dict(job.labels).items(),
        "name": lambda want: job.name == want,
        "name_prefix": lambda want: job.name.startswith(want),
        "created_after": lambda want: job.created_at >= want,
        "created_before": lambda want: job.created_at < want,
        "retry_of": lambda want: job.retry_of == want,
    }
    given = {name: getattr(query, name) for name in query.__struct_fields__}
    assert given.keys() == checks.keys()
    return all(checks[name](want) for name, want in given.items() if want not in (None, (), {}))
