"""
Hints between the tasks of one event loop.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from datetime import datetime

from standfast.ports.clock import Clock


class LoopWakeups:
    """
    Counters with waiters; costs nothing while nobody hints.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._counts: dict[str, int] = defaultdict(int)
        # Dictionaries, because they keep the order: whoever waits longest is woken first, and every run is alike.
        self._waiters: dict[str, dict[asyncio.Future[None], None]] = defaultdict(dict)

    def hint(self, topic: str) -> None:
        """
        Count one hint and wake the waiters; call it on the loop only.
        """
        self._counts[topic] += 1
        for waiter in self._waiters.pop(topic, ()):
            if not waiter.done():
                waiter.set_result(None)

    def seen(self, topic: str) -> int:
        """
        The number of hints so far.
        """
        return self._counts[topic]

    async def wait(self, topic: str, *, seen: int, until: datetime | None) -> None:
        """
        Return at the next hint after `seen`, or at `until`.
        """
        if self._counts[topic] > seen:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters[topic][waiter] = None
        try:
            if until is None:
                await waiter
            else:
                timeout_s = max(0.0, (until - self._clock.now()).total_seconds())
                await asyncio.wait({waiter}, timeout=timeout_s)
        finally:
            self._waiters[topic].pop(waiter, None)
