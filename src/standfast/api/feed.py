"""
The newest events, read from the store once and handed to everyone who follows.

Belongs here: the shared tail and who waits for it. Not here: how a stream looks on the wire (`sse`). A follower that is
behind the tail reads from the store at its own pace, so nobody is ever cut off and memory stays bounded.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from typing import NamedTuple

import structlog

from standfast.api.problems import Throttled
from standfast.core.errors import Unavailable
from standfast.ports.store import StoredEvent
from standfast.runtime.world import EVENTS, World

log = structlog.get_logger(__name__)

KEPT = 4096
"""Events in the tail."""

BATCH = 500
PACE_S = 0.005
"""Shortest time between two reads of the store, so that a thousand commits a second cost two hundred reads."""

LOOK_EVERY_S = 15.0
"""Between two reads though nothing was hinted: a hint may be lost."""

FOLLOWERS_MAX = 2000
"""Streams and held-back answers at once."""


class Told(NamedTuple):
    """
    One event, ready to be sent. seq, uid, namespace: what followers choose by.
    """

    seq: int
    uid: str
    namespace: str
    bytes: bytes


class Feed:
    """
    The shared tail of the global sequence; works only while somebody follows.
    """

    def __init__(self, world: World, render: Callable[[StoredEvent], bytes]) -> None:
        self._world = world
        self._render = render
        self._tail: list[Told] = []
        self._floor = 0
        self._newest = 0
        self._followers = 0
        self._work: asyncio.Task[None] | None = None
        self._news: asyncio.Future[None] | None = None
        self._end = asyncio.Event()

    def ending(self) -> bool:
        """
        Whether all who follow shall go.
        """
        return self._end.is_set()

    def end(self) -> None:
        """
        Let everyone who follows go, because the process is about to end; they come back with their cursors.
        """
        self._end.set()
        self._wake()

    @asynccontextmanager
    async def followed(self) -> AsyncIterator[int]:
        """
        Follow for as long as the block lasts; gives the number of the newest event.

        Raises:
            Throttled: Too many do. Unavailable: The store does not answer, or the process is about to end.
        """
        if self.ending():
            raise Unavailable("the control plane is stopping", code="store_closed")
        if self._followers >= FOLLOWERS_MAX:
            raise Throttled(f"more than {FOLLOWERS_MAX} follow already", retry_after_s=5.0)
        self._followers += 1
        try:
            newest = await self._world.catalogue.newest_seq()
            if self._work is None:
                self._tail, self._floor, self._newest = [], newest, newest
                self._work = asyncio.create_task(self._keep_up(), name="feed")
                self._work.add_done_callback(lambda _: self._wake())
            yield newest
        finally:
            self._followers -= 1
            if self._followers == 0 and self._work is not None:
                self._work.cancel()
                self._work = None

    async def read(
        self, after: int, *, uid: str | None = None, namespace: str | None = None
    ) -> tuple[Sequence[Told], int]:
        """
        Events that fit, numbered above `after`, in order, at most `BATCH`; and the number up to which that is all.
        """
        if after >= self._floor:
            begin = bisect_right(self._tail, after, key=lambda told: told.seq)
            some = self._tail[begin : begin + BATCH]
            return [told for told in some if _fits(told, uid, namespace)], some[-1].seq if some else after
        known = self._newest
        found = await self._world.catalogue.events(after=after, uid=uid, namespace=namespace, limit=BATCH)
        told = [self._told(stored) for stored in found]
        # Fewer than asked for: all up to what was known before the question is in the answer.
        return told, told[-1].seq if len(told) == BATCH else max(known, told[-1].seq if told else after)

    async def news(self, after: int, *, until: datetime) -> None:
        """
        Return once an event numbered above `after` is there to be read, at `until`, or when all shall go.
        """
        while self._newest <= after and not self.ending():
            if self._work is not None and self._work.done():
                self._work.result()  # a fault of ours: followers must not go on as if nothing happened any more
            left_s = (until - self._world.clock.now()).total_seconds()
            if left_s <= 0:
                return
            if self._news is None:
                self._news = asyncio.get_running_loop().create_future()
            await asyncio.wait({self._news}, timeout=left_s)

    async def rest(self, seconds: float) -> None:
        """
        Let so much time pass, unless all shall go.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._end.wait()

    async def _keep_up(self) -> None:
        world = self._world
        while True:
            seen = world.wakeups.seen(EVENTS)
            try:
                found = await world.catalogue.events(after=self._newest, limit=BATCH)
            except Unavailable as error:
                log.warning("feed_waits", detail=error.message)
                await world.clock.sleep(error.retry_after_s)
                continue
            if found:
                self._append(found)
                await world.clock.sleep(PACE_S)
            if len(found) < BATCH:
                until = world.clock.now() + timedelta(seconds=LOOK_EVERY_S)
                await world.wakeups.wait(EVENTS, seen=seen, until=until)

    def _append(self, found: Sequence[StoredEvent]) -> None:
        self._tail += map(self._told, found)
        if len(self._tail) > 2 * KEPT:
            self._floor = self._tail[-KEPT - 1].seq
            del self._tail[:-KEPT]
        self._newest = self._tail[-1].seq
        self._wake()

    def _wake(self) -> None:
        news, self._news = self._news, None
        if news is not None and not news.done():
            news.set_result(None)

    def _told(self, stored: StoredEvent) -> Told:
        return Told(stored.seq, stored.uid, stored.namespace, self._render(stored))


def _fits(told: Told, uid: str | None, namespace: str | None) -> bool:
    return uid in (None, told.uid) and namespace in (None, told.namespace)
