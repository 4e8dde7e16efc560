"""
How contract cases are written down, and the small questions that several of them ask of a store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import msgspec

from standfast.core.job import events as e
from standfast.core.job.machine import Step, step
from standfast.core.job.state import Job
from standfast.ports.store import Query, Slot
from standfast.testing import builders
from standfast.testing.contracts.histories import Desk, HandClock, Store, Subject, Wanderer

Case = Callable[[Subject], Awaitable[None]]


class Cases(list[Case]):
    """
    Cases in the order they are best read.
    """

    def case(self, case: Case) -> Case:
        """
        Decorates a coroutine function as one of them.
        """
        self.append(case)
        return case


@asynccontextmanager
async def desk_at(subject: Subject) -> AsyncIterator[Desk]:
    """
    A desk at the subject's store, begun; closed afterwards.
    """
    clock = HandClock()
    store = subject.open(clock)
    await store.begin(clock.now())
    try:
        yield Desk(store, clock)
    finally:
        await store.close()


def counts_by_phase(slots: list[Slot]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for slot in slots:
        counts[slot.phase.value] += slot.count
    return dict(counts)


def path_to(built: Job) -> list[Step]:
    """
    Steps that make exactly this job: an opening, and one that leads to where it is in as many events.
    """
    opening = step(None, builders.submit(built.spec, uid=built.uid, request_id=built.request_id), builders.START)
    opening = msgspec.structs.replace(opening, after=msgspec.structs.replace(opening.after, digest=built.digest))
    if built.revision == 1:
        return [opening]
    filler = (e.StatusChanged(source="test"),) * (built.revision - 1)
    return [opening, Step(opening.after, filler, built, opening.action, built.updated_at)]


async def wander(store: Store, wanderer: Wanderer) -> None:
    wanderer.learn(await store.commit(wanderer.steps()))
    job = wanderer.removal()
    if job is not None and await store.remove(job.uid, revision=job.revision):
        wanderer.forget(job.uid)


async def all_jobs(store: Store, query: Query) -> list[Job]:
    """
    All pages of the query.
    """
    found: list[Job] = []
    page = await store.page(query, size=7)
    while True:
        found += page.jobs
        if page.next_after is None:
            return found
        page = await store.page(query, size=7, after=page.next_after)


async def everything_in(store: Store, clock: HandClock) -> list[object]:
    now = clock.now() + timedelta(days=1)
    return [
        await all_jobs(store, Query()),
        await store.events(limit=100_000),
        await store.slots(),
        await store.watched(),
        await store.due(now, limit=1000),
        await store.queued(now, engine="fake", queue="default", limit=1000),
        await store.newest_seq(),
    ]
