"""
Blobs that nobody names: put, and then a crash, or another word on the job, came before the record that would name them.

Belongs here: finding and removing them. A blob says on its first line which attempt it is of (see `archive`), so the
one job that may name it is asked, and never all jobs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection

import structlog

from standfast.core.errors import NotFound, Unavailable
from standfast.core.job.attempt import uid_and_number
from standfast.core.job.events import BecameUncertain
from standfast.core.job.evidence import Evidence
from standfast.core.job.state import Job
from standfast.ports.blobs import Kept
from standfast.runtime.archive import owner
from standfast.runtime.world import World

log = structlog.get_logger(__name__)

PAGE = 200
"""Blobs looked at in one go."""

EVERY_S = 3600.0
"""Between two rounds. What neither of them found named, and nobody put in between, is named by no commit under way."""

EVENTS_PAGE = 500


class Unclaimed:
    """
    Goes round all blobs, page by page, and removes those that two rounds in a row found unclaimed and unchanged.

    A commit that is about to name a blob has put it a moment ago, and puts it again for as long as the store does not
    take it (see `archive`); so it is either seen put again, or named. That asks no clock how old anything is. What
    cannot be read, or does not say what attempt it is of, is left alone.
    """

    def __init__(self, world: World, *, page: int = PAGE, every_s: float = EVERY_S) -> None:
        self._world = world
        self._page = page
        self._every_s = every_s
        self._next_round_s = 0.0
        self._after = ""
        self._suspects: dict[str, int] = {}
        self._found: dict[str, int] = {}
        self._at_it = asyncio.Lock()

    async def collect(self) -> int:
        """
        Look at the next page, if there is one yet; returns how many blobs were removed.

        Raises:
            Unavailable: Blobs or store did not answer; the page is looked at again the next time.
        """
        loop = asyncio.get_running_loop()
        if self._at_it.locked() or loop.time() < self._next_round_s:
            return 0
        async with self._at_it:
            page = await self._world.blobs.page(after=self._after, limit=self._page)
            removed = 0
            for kept in await self._unnamed(page):
                if self._suspects.get(kept.digest) != kept.put:
                    self._found[kept.digest] = kept.put
                elif await self._world.blobs.remove(kept.digest, put=kept.put):
                    log.info("unclaimed_blob_removed", digest=kept.digest)
                    removed += 1
            if len(page) == self._page:
                self._after = page[-1].digest
            else:
                self._after, self._suspects, self._found = "", self._found, {}
                self._next_round_s = loop.time() + self._every_s
            return removed

    async def _unnamed(self, page: Collection[Kept]) -> list[Kept]:
        """
        Those of an attempt whose job is gone or does not name them.
        """
        uids: dict[str, str] = {}
        for kept in page:
            try:
                named = uid_and_number(owner(await self._world.blobs.get(kept.digest)))
            except (NotFound, Unavailable) as error:
                log.warning("blob_not_looked_at", digest=kept.digest, error=error.message)
                continue
            if named is not None:
                uids[kept.digest] = named[0]
        jobs = {job.uid: job for job in await self._world.store.load(list(dict.fromkeys(uids.values())))}
        return [
            kept
            for kept in page
            if kept.digest in uids
            and ((job := jobs.get(uids[kept.digest])) is None or not await self._names(job, kept.digest))
        ]

    async def _names(self, job: Job, digest: str) -> bool:
        """
        Whether the job's record or its history names the blob; the history is read only where the record does not.
        """
        if digest in names(job):
            return True
        after = 0
        while events := await self._world.catalogue.events(after=after, uid=job.uid, limit=EVENTS_PAGE):
            for stored in events:
                # The one event that keeps its evidence, see `events.kept`.
                end = stored.event.end if isinstance(stored.event, BecameUncertain) else None
                if end is not None and digest in _blobs(end.evidence):
                    return True
            after = events[-1].seq
        return False


def names(job: Job) -> set[str]:
    """
    Every blob that the job's record names.
    """
    named = {digest for attempt in job.attempts for digest in _blobs(attempt.evidence)}
    if job.uncertain is not None and job.uncertain.end is not None:
        named |= _blobs(job.uncertain.end.evidence)
    return named


def _blobs(evidence: Collection[Evidence]) -> set[str]:
    return {one.blob for one in evidence if one.blob is not None}
