"""
`SqliteStore`: both store ports over one file.

Belongs here: each call of the ports, in a few lines. How rows are written is in `ledger`, how transactions end in
`committer`, how a page is found in `pages`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from heapq import merge
from itertools import islice
from pathlib import Path

from standfast.core.errors import Unavailable
from standfast.core.job.attempt import handle_of
from standfast.core.job.machine import Step
from standfast.core.job.state import Job, Phase
from standfast.ports.clock import Clock
from standfast.ports.store import Committed, DueJobs, Epoch, Page, Query, Slot, StoredEvent, Watched
from standfast.stores.sqlite import pages, queries, rows
from standfast.stores.sqlite.committer import Committer
from standfast.stores.sqlite.errors import telling
from standfast.stores.sqlite.file import open_file, open_reader
from standfast.stores.sqlite.ledger import Ledger
from standfast.stores.sqlite.lock import FileLock
from standfast.stores.sqlite.migrate import Migration, shipped
from standfast.stores.sqlite.snapshot import Snapshot

AHEAD_MAX = 10_000
"""Beyond this many, a place in the queue is not counted on."""

STRETCH = 10_000
"""Events looked through at once for those of one namespace."""

FEW_JOBS = 1_000
"""A namespace with no more is read by its jobs."""

BEAT_S = 5.0
"""While jobs are unfinished and nothing else is written, a sign of life is, this often; so outages are known to it."""


def _no_failpoint(name: str) -> None:
    pass


class SqliteStore:
    """
    Jobs in the SQLite file at `path`; opened by `begin`, usable from that one event loop until `close`.

    clock: for signs of life only. failpoint: called around every COMMIT, perhaps on the loop; it may kill, not raise.
    migrations, vfs: for tests of upgrades and of failing disks.
    """

    def __init__(
        self,
        path: Path,
        clock: Clock,
        *,
        failpoint: Callable[[str], None] = _no_failpoint,
        migrations: Sequence[Migration] | None = None,
        vfs: str | None = None,
    ) -> None:
        self._path = path
        self._clock = clock
        self._failpoint = failpoint
        self._migrations = shipped() if migrations is None else migrations
        self._vfs = vfs
        self._lock = FileLock(path.with_name(path.name + ".lock"))
        self._open: _Open | None = None
        self._beat: asyncio.TimerHandle | None = None

    # --- JobStore ----------------------------------------------------------------------------------------------------

    async def begin(self, now: datetime) -> Epoch:
        """
        As the port says; opens the file first, and makes or migrates it if need be.

        Raises:
            Unavailable: Also `store_too_new` and `store_corrupt`. The file is as it was, and not held.
        """
        if self._open is None:
            self._open = self._opened()
        is_open = self._open
        try:
            epoch = await is_open.committer.submit(lambda: is_open.ledger.begin(now))
        except Unavailable:
            await self._let_go(is_open)
            raise
        self._schedule_beat()
        return epoch

    async def load(self, uids: Sequence[str]) -> list[Job]:
        """
        As the port says.
        """
        with self._held().snapshot as snapshot:
            found = (snapshot.row(queries.JOB_BY_UID, (uid,)) for uid in uids)
            return [snapshot.job(row) for row in found if row is not None]

    async def commit(self, steps: Sequence[Step]) -> list[Committed]:
        """
        As the port says; shares its flush with whoever else commits meanwhile.
        """
        ledger = self._held().ledger
        if not steps:
            return []
        return await self._held().committer.submit(lambda: ledger.apply(steps), weight=len(steps))

    async def due(self, now: datetime, *, limit: int, skip: Collection[str] = ()) -> DueJobs:
        """
        As the port says.
        """
        now_us = rows.to_us(now)
        jobs: list[Job] = []
        with self._held().snapshot as snapshot:
            for wake_us, uid, job_id in snapshot.rows(queries.JOBS_BY_WAKE):
                if uid in skip:
                    continue
                if wake_us > now_us or len(jobs) == limit:
                    return DueJobs(jobs, rows.from_us(wake_us))
                jobs += snapshot.jobs(queries.JOB_BY_ID, (job_id,))
        return DueJobs(jobs, None)

    async def queued(self, now: datetime, *, engine: str, queue: str, limit: int) -> list[Job]:
        """
        As the port says.
        """
        which = (engine, queue, rows.to_us(now), limit)
        with self._held().snapshot as snapshot:
            ready, scheduled = (snapshot.jobs(sql, which) for sql in (queries.READY, queries.SCHEDULED))
        return list(islice(merge(ready, scheduled, key=lambda job: (-job.spec.priority, job.uid)), limit))

    async def watched(self) -> list[Watched]:
        """
        As the port says, in the order of acceptance.
        """
        with self._held().snapshot as snapshot:
            found = sorted(snapshot.rows(queries.WATCHED))
        return [Watched(uid, engine, handle_of(uid, number), Phase(phase)) for _, uid, engine, number, phase in found]

    async def remove(self, uid: str, *, revision: int) -> bool:
        """
        As the port says.
        """
        ledger = self._held().ledger
        return await self._held().committer.submit(lambda: ledger.remove(uid, revision))

    async def close(self) -> None:
        """
        As the port says; fine if it is not open.
        """
        if self._open is not None:
            is_open = self._open
            # Without it the outage will seem longer than it was, which holds less against the jobs.
            with suppress(Unavailable):
                await is_open.committer.submit(is_open.ledger.beat)
            await self._let_go(is_open)

    # --- Catalogue ---------------------------------------------------------------------------------------------------

    async def find(self, namespace: str, request_id: str) -> Job | None:
        """
        As the port says.
        """
        with self._held().snapshot as snapshot:
            return next(iter(snapshot.jobs(queries.JOB_BY_REQUEST, (namespace, request_id))), None)

    async def page(self, query: Query, *, size: int, after: int | None = None) -> Page:
        """
        As the port says.
        """
        with self._held().snapshot as snapshot:
            return pages.page(snapshot, query, size=size, after=after)

    async def events(
        self, *, after: int = 0, uid: str | None = None, namespace: str | None = None, limit: int = 500
    ) -> list[StoredEvent]:
        """
        As the port says.
        """
        if uid is None and namespace is not None:
            return await self._events_of_namespace(namespace, after, limit)
        sql = queries.EVENTS
        if uid is not None:
            sql = queries.EVENTS_OF_JOB if namespace is None else queries.EVENTS_OF_JOB_IN_NAMESPACE
        which = [one for one in (uid, namespace) if one is not None]
        with self._held().snapshot as snapshot:
            return [rows.event_of(row) for row in snapshot.rows(sql, (*which, after, limit))]

    async def _events_of_namespace(self, namespace: str, after: int, limit: int) -> list[StoredEvent]:
        """
        By the namespace's jobs if these are few and the numbers many; else through the numbers, and in stretches, so
        that a rare event holds nobody up. No index: it would be written with every event there is.
        """
        ledger = self._held().ledger
        found: list[StoredEvent] = []
        newest = ledger.newest_seq
        if newest - after > STRETCH and ledger.jobs_in(namespace) <= FEW_JOBS:
            with self._held().snapshot as snapshot:
                few = snapshot.rows(queries.EVENTS_OF_FEW_JOBS, (namespace, after, limit))
                return [rows.event_of(row) for row in few]
        while after < newest and len(found) < limit:
            through = min(after + STRETCH, newest)
            which = (namespace, through, after, limit - len(found))
            with self._held().snapshot as snapshot:
                found += [rows.event_of(row) for row in snapshot.rows(queries.EVENTS_OF_NAMESPACE, which)]
            after = through
            await asyncio.sleep(0)
        return found

    async def newest_seq(self) -> int:
        """
        As the port says.
        """
        return self._held().ledger.newest_seq

    async def slots(self) -> list[Slot]:
        """
        As the port says, in order of their names.
        """
        return self._held().ledger.slots()

    async def ahead(self, job: Job) -> int:
        """
        As the port says.
        """
        which = (job.spec.engine, job.spec.queue, job.spec.priority, job.uid, AHEAD_MAX)
        with self._held().snapshot as snapshot:
            ((count,),) = snapshot.rows(queries.AHEAD, which)
        return int(count)

    # --- open and closed ---------------------------------------------------------------------------------------------

    def _held(self) -> _Open:
        if self._open is None:
            raise Unavailable("the store is not open", code="store_closed")
        return self._open

    def _opened(self) -> _Open:
        with telling():
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock.acquire()
            try:
                return _Open(self._path, self._migrations, self._clock, self._failpoint, self._vfs)
            except BaseException:
                self._lock.release()
                raise

    async def _let_go(self, is_open: _Open) -> None:
        self._open = None
        if self._beat is not None:
            self._beat.cancel()
        await is_open.committer.close()
        is_open.reader.close()
        is_open.writer.close()
        self._lock.release()

    def _schedule_beat(self) -> None:
        if self._beat is not None:
            self._beat.cancel()
        self._beat = asyncio.get_running_loop().call_later(BEAT_S, self._beat_if_idle)

    def _beat_if_idle(self) -> None:
        if self._open is None:
            return
        ledger = self._open.ledger
        seen_at = ledger.seen_at
        if ledger.unfinished and (seen_at is None or self._clock.now() - seen_at >= timedelta(seconds=BEAT_S / 2)):
            # Nobody waits for it; a failing disk is told to those who do.
            self._open.committer.submit(ledger.beat).add_done_callback(asyncio.Future.exception)
        self._schedule_beat()


class _Open:
    """
    What exists only while the file is open.
    """

    def __init__(
        self,
        path: Path,
        migrations: Sequence[Migration],
        clock: Clock,
        failpoint: Callable[[str], None],
        vfs: str | None,
    ) -> None:
        self.writer = open_file(path, migrations, vfs=vfs)
        try:
            self.ledger = Ledger(self.writer)
            self.reader = open_reader(path, vfs=vfs)
            self.snapshot = Snapshot(self.reader)
        except BaseException:
            self.writer.close()
            raise
        self.committer = Committer(self.writer, self.ledger, clock.now, failpoint)
