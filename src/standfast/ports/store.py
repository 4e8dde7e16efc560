"""
The store ports: `JobStore` for those who change jobs, `Catalogue` for those who read about them.

One door: every change is a `Step`, committed by a compare-and-swap on the job's revision together with its events and
its wake time, in one transaction. Many steps may share one flush to disk; each wins or loses by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from standfast.core.job.events import Event
from standfast.core.job.inputs import Outage
from standfast.core.job.machine import Step
from standfast.core.job.state import Job, Phase


class Epoch(msgspec.Struct, frozen=True):
    """
    One life of a control plane on this store. fence: grows by one with each. outages: times without any, oldest first,
    as far back as the oldest unfinished job. set_back_s: how far the machine's clock was set back since the last sign
    of life; 0 if it was not.
    """

    fence: int
    outages: tuple[Outage, ...] = ()
    set_back_s: float = 0.0


class Lost(msgspec.Struct, frozen=True):
    """
    The step lost its swap (or its job is gone); nothing of it was written. Reload and take the turn again.
    """

    uid: str


class Taken(msgspec.Struct, frozen=True):
    """
    The request id already made `job`; nothing was written. Comparing the commands' digests is for the caller.
    """

    job: Job


Committed = Job | Lost | Taken


class DueJobs(msgspec.Struct, frozen=True):
    """
    jobs: those whose wake time has come, most urgent first. next_at: the earliest wake time after them, None if none.
    """

    jobs: list[Job]
    next_at: datetime | None


class Watched(msgspec.Struct, frozen=True):
    """
    An attempt that may be alive on an engine: what an observer needs to ask about it, and no more.
    """

    uid: str
    engine: str
    handle: str
    phase: Phase


class Slot(msgspec.Struct, frozen=True):
    """
    One kept counter: how many jobs of (namespace, engine, queue) are in `phase`.
    """

    namespace: str
    engine: str
    queue: str
    phase: Phase
    count: int


class JobStore(Protocol):
    """
    Durable jobs, changed by steps only.
    """

    async def begin(self, now: datetime) -> Epoch:
        """
        Begin a new epoch and return it with the outages before it.

        Raises:
            Unavailable: Another process holds the store (`store_held`), or it cannot be read (`store_unavailable`).
        """
        ...

    async def load(self, uids: Sequence[str]) -> list[Job]:
        """
        The jobs of these uids in the order given; unknown ones are left out.
        """
        ...

    async def commit(self, steps: Sequence[Step]) -> list[Committed]:
        """
        Write each step durably or not at all; returns once all are on disk, answers in the order given.

        A step with `before` None inserts, unless (namespace, request id) is taken. Others update where the revision
        is still `before.revision`. A step without events writes its wake time only. Steps of one call are applied in
        order; once one of a job did not win, its later ones are `Lost`, because they build on it. The events get the
        next numbers of one global sequence, in the order they became visible.

        Raises:
            Unavailable: Nothing of these steps is durable; `store_full` if the disk is. The store stays usable for
                reads, and takes writes again as soon as it can.
        """
        ...

    async def due(self, now: datetime, *, limit: int, skip: Collection[str] = ()) -> DueJobs:
        """
        At most `limit` jobs that are not queued and whose wake time is at or before `now`, earliest first.

        Queued jobs come by `queued`, never here, except to move on at their start time. skip: uids to leave out.
        """
        ...

    async def queued(self, now: datetime, *, engine: str, queue: str, limit: int) -> list[Job]:
        """
        At most `limit` queued jobs of that engine and queue that may start at `now`, by priority, then oldest first.
        """
        ...

    async def watched(self) -> list[Watched]:
        """
        The latest attempt of every job that holds a slot.
        """
        ...

    async def remove(self, uid: str, *, revision: int) -> bool:
        """
        Remove a finished job's record, its attempts and its events for good; False if the revision moved.

        Its request id is free again. The global sequence keeps its gap.
        """
        ...

    async def close(self) -> None:
        """
        Finish what is being committed, mark the epoch's end, let go of the store.
        """
        ...


class StoredEvent(msgspec.Struct, frozen=True):
    """
    One event as it was committed. seq: global, growing; revision: the job's, after the event.
    """

    seq: int
    uid: str
    namespace: str
    revision: int
    at: datetime
    actor: str
    event: Event


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """
    Which jobs; every given part must fit. phases, engines: any of them. labels: all of them. created_after is within
    the range, created_before is not.
    """

    namespace: str | None = None
    phases: tuple[Phase, ...] = ()
    not_phases: tuple[Phase, ...] = ()
    engines: tuple[str, ...] = ()
    queue: str | None = None
    labels: Mapping[str, str] = {}
    name: str | None = None
    name_prefix: str | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    retry_of: str | None = None


class Page(msgspec.Struct, frozen=True):
    """
    jobs: the last accepted first. next_after: the place to continue behind, None at the end. seq: the newest event when
    it was read.
    """

    jobs: list[Job]
    next_after: int | None
    seq: int


class Catalogue(Protocol):
    """
    Reads for people; never acted on.
    """

    async def find(self, namespace: str, request_id: str) -> Job | None:
        """
        The job that this request id made.
        """
        ...

    async def page(self, query: Query, *, size: int, after: int | None = None) -> Page:
        """
        At most `size` (1..1000) jobs that fit, the last accepted first, continuing behind `after`, the `next_after` of
        an earlier page; keyset, never an offset.
        """
        ...

    async def events(
        self, *, after: int = 0, uid: str | None = None, namespace: str | None = None, limit: int = 500
    ) -> list[StoredEvent]:
        """
        At most `limit` events numbered above `after`, in sequence order, of one job, one namespace, or all.
        """
        ...

    async def newest_seq(self) -> int:
        """
        The number of the newest event, 0 if there is none.
        """
        ...

    async def slots(self) -> list[Slot]:
        """
        The kept counters that are not zero; never counted by scanning.
        """
        ...

    async def ahead(self, job: Job) -> int:
        """
        How many queued jobs of the same engine and queue stand before this one; at most 10,000 are counted, and none
        that still waits for its start time.
        """
        ...
