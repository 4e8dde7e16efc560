"""
`MemoryStore`: both store ports over plain collections.

Belongs here: the contract, read literally. Not here: durability, or speed beyond what tests and demos need.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from itertools import islice

import msgspec

from standfast.core.job import events as e
from standfast.core.job.inputs import Outage
from standfast.core.job.machine import Step
from standfast.core.job.state import Job, Phase
from standfast.ports.store import (
    Committed,
    DueJobs,
    Epoch,
    Lost,
    Page,
    Query,
    Slot,
    StoredEvent,
    Taken,
    Watched,
)
from standfast.stores.memory.keys import Keys

AHEAD_MAX = 10_000
"""Beyond this many, a place in the queue is not counted on."""


class MemoryStore:
    """
    Jobs in this process's memory. Any number of control planes may follow one another on it, one at a time.

    The last sign of life of an epoch is the latest time that any of its calls brought along.
    """

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._requests: dict[tuple[str, str], str] = {}
        self._events: list[StoredEvent] = []
        self._histories: dict[str, list[StoredEvent]] = {}
        self._newest_seq = 0
        self._places: dict[str, int] = {}
        self._accepted = 0
        self._wakes: Keys[tuple[datetime, str]] = Keys()
        self._queues: dict[tuple[str, str], Keys[tuple[int, str]]] = defaultdict(Keys)
        self._counts: dict[tuple[str, str, str, Phase], int] = {}
        self._fence = 0
        self._seen_at: datetime | None = None
        self._outages: list[Outage] = []

    # --- JobStore ----------------------------------------------------------------------------------------------------

    async def begin(self, now: datetime) -> Epoch:
        """
        Begin a new epoch; the outage before it began with the last sign of life of the one before.
        """
        if self._seen_at is not None and self._seen_at < now:
            self._outages.append(Outage(self._seen_at, now))
        self._fence += 1
        set_back_s = 0.0 if self._seen_at is None else max(0.0, (self._seen_at - now).total_seconds())
        self._seen_at = now
        since = min((job.created_at for job in self._jobs.values() if not job.phase.final), default=now)
        return Epoch(self._fence, tuple(outage for outage in self._outages if outage.end >= since), set_back_s)

    async def load(self, uids: Sequence[str]) -> list[Job]:
        """
        As the port says.
        """
        return [self._jobs[uid] for uid in uids if uid in self._jobs]

    async def commit(self, steps: Sequence[Step]) -> list[Committed]:
        """
        As the port says; lets other tasks run first, as a store with a disk would.
        """
        await asyncio.sleep(0)
        answers: list[Committed] = []
        beaten: set[str] = set()
        for step in steps:
            answer = Lost(step.after.uid) if step.after.uid in beaten else self._apply(step)
            if not isinstance(answer, Job):
                beaten.add(step.after.uid)
            answers.append(answer)
        return answers

    async def due(self, now: datetime, *, limit: int, skip: Collection[str] = ()) -> DueJobs:
        """
        As the port says.
        """
        self._seen(now)
        jobs: list[Job] = []
        for at, uid in self._wakes:
            if uid in skip:
                continue
            if at > now or len(jobs) == limit:
                return DueJobs(jobs, at)
            jobs.append(self._jobs[uid])
        return DueJobs(jobs, None)

    async def queued(self, now: datetime, *, engine: str, queue: str, limit: int) -> list[Job]:
        """
        As the port says.
        """
        self._seen(now)
        waiting = (self._jobs[uid] for _, uid in self._queues[engine, queue])
        return list(islice((job for job in waiting if _may_start(job, now)), limit))

    async def watched(self) -> list[Watched]:
        """
        As the port says, in the order of acceptance.
        """
        return [
            Watched(job.uid, job.spec.engine, job.attempt.handle, job.phase)
            for job in self._jobs.values()
            if job.phase.holds_slot
        ]

    async def remove(self, uid: str, *, revision: int) -> bool:
        """
        As the port says.
        """
        job = self._jobs.get(uid)
        if job is None or job.revision != revision or not job.phase.final:
            return False
        self._unindex(job)
        del self._jobs[uid]
        del self._requests[job.namespace, job.request_id]
        del self._histories[uid]
        del self._places[uid]
        self._events = [stored for stored in self._events if stored.uid != uid]
        return True

    async def close(self) -> None:
        """
        Nothing to let go of.
        """

    # --- Catalogue ---------------------------------------------------------------------------------------------------

    async def find(self, namespace: str, request_id: str) -> Job | None:
        """
        As the port says.
        """
        uid = self._requests.get((namespace, request_id))
        return None if uid is None else self._jobs[uid]

    async def page(self, query: Query, *, size: int, after: int | None = None) -> Page:
        """
        As the port says.
        """
        behind = (uid for uid, place in reversed(self._places.items()) if after is None or place < after)
        fitting = (self._jobs[uid] for uid in behind if _fits(query, self._jobs[uid]))
        jobs = list(islice(fitting, size + 1))
        next_after = self._places[jobs[size - 1].uid] if len(jobs) > size else None
        return Page(jobs[:size], next_after, self._newest_seq)

    async def events(
        self, *, after: int = 0, uid: str | None = None, namespace: str | None = None, limit: int = 500
    ) -> list[StoredEvent]:
        """
        As the port says.
        """
        history = self._events if uid is None else self._histories.get(uid, [])
        later = islice(history, bisect_right(history, after, key=_seq), None)
        return list(islice((one for one in later if namespace is None or one.namespace == namespace), limit))

    async def newest_seq(self) -> int:
        """
        As the port says.
        """
        return self._newest_seq

    async def slots(self) -> list[Slot]:
        """
        As the port says, in order of their names.
        """
        return [Slot(*key, count) for key, count in sorted(self._counts.items())]

    async def ahead(self, job: Job) -> int:
        """
        As the port says.
        """
        order = self._queues[job.spec.engine, job.spec.queue]
        before = islice(order, order.below((-job.spec.priority, job.uid)))
        ready = (uid for _, uid in before if self._jobs[uid].wake_at is None)
        return sum(1 for _ in islice(ready, AHEAD_MAX))

    # --- one step ----------------------------------------------------------------------------------------------------

    def _apply(self, step: Step) -> Committed:
        self._seen(step.at)
        before, after = step.before, step.after
        stored = self._jobs.get(after.uid)
        if before is None:
            taken = self._requests.get((after.namespace, after.request_id))
            if taken is not None:
                return Taken(self._jobs[taken])
            if stored is not None:
                return Lost(after.uid)
            self._requests[after.namespace, after.request_id] = after.uid
            self._histories[after.uid] = []
            self._accepted += 1
            self._places[after.uid] = self._accepted
        elif stored is None or stored.revision != before.revision:
            return Lost(after.uid)
        else:
            self._unindex(stored)
            if not step.events:
                after = msgspec.structs.replace(stored, wake_at=after.wake_at)
        self._jobs[after.uid] = after
        self._index(after)
        for number, event in enumerate(step.events, start=1 if before is None else before.revision + 1):
            self._append(step, number, event)
        return after

    def _append(self, step: Step, revision: int, event: e.Event) -> None:
        event = e.kept(event)
        job = step.after
        self._newest_seq += 1
        stored = StoredEvent(self._newest_seq, job.uid, job.namespace, revision, step.at, step.actor, event)
        self._events.append(stored)
        self._histories[job.uid].append(stored)

    def _index(self, job: Job) -> None:
        if job.wake_at is not None:
            self._wakes.add((job.wake_at, job.uid))
        if job.phase is Phase.QUEUED:
            self._queues[job.spec.engine, job.spec.queue].add((-job.spec.priority, job.uid))
        key = _slot(job)
        self._counts[key] = self._counts.get(key, 0) + 1

    def _unindex(self, job: Job) -> None:
        if job.wake_at is not None:
            self._wakes.discard((job.wake_at, job.uid))
        if job.phase is Phase.QUEUED:
            self._queues[job.spec.engine, job.spec.queue].discard((-job.spec.priority, job.uid))
        key = _slot(job)
        self._counts[key] -= 1
        if not self._counts[key]:
            del self._counts[key]

    def _seen(self, now: datetime) -> None:
        if self._seen_at is None or self._seen_at < now:
            self._seen_at = now


def _seq(stored: StoredEvent) -> int:
    return stored.seq


def _slot(job: Job) -> tuple[str, str, str, Phase]:
    return (job.namespace, job.spec.engine, job.spec.queue, job.phase)


def _may_start(job: Job, now: datetime) -> bool:
    return job.spec.start_at is None or job.spec.start_at <= now


def _fits(query: Query, job: Job) -> bool:
    """
    Whether every given part of the query fits the job.
    """
    return (
        query.namespace in (None, job.namespace)
        and (not query.phases or job.phase in query.phases)
        and job.phase not in query.not_phases
        and (not query.engines or job.spec.engine in query.engines)
        and query.queue in (None, job.spec.queue)
        and all(job.labels.get(key) == value for key, value in query.labels.items())
        and query.name in (None, job.name)
        and job.name.startswith(query.name_prefix or "")
        and (query.created_after is None or query.created_after <= job.created_at)
        and (query.created_before is None or job.created_at < query.created_before)
        and query.retry_of in (None, job.retry_of)
    )
