"""
What all wakeups must do: one case per fact, each a coroutine over fresh wakeups and the clock they use.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from standfast.ports.clock import Clock
from standfast.ports.wakeups import Wakeups

PATIENCE_S = 5.0


@dataclass(frozen=True)
class Subject:
    """
    Wakeups to be judged, and the clock that `until` is read from.
    """

    wakeups: Wakeups
    clock: Clock

    def soon(self, seconds: float) -> datetime:
        """
        That many seconds from now.
        """
        return self.clock.now() + timedelta(seconds=seconds)


Case = Callable[[Subject], Awaitable[None]]
CASES: list[Case] = []
"""All cases."""


def _case(case: Case) -> Case:
    CASES.append(case)
    return case


@_case
async def a_hint_wakes_every_waiter(subject: Subject) -> None:
    """
    All who wait for the topic return, without a time limit too.
    """
    wakeups = subject.wakeups
    seen = wakeups.seen("t")
    waiters = [asyncio.ensure_future(wakeups.wait("t", seen=seen, until=None)) for _ in range(10)]
    await asyncio.sleep(0)
    wakeups.hint("t")
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*waiters)


@_case
async def a_hint_before_the_wait_is_not_lost(subject: Subject) -> None:
    """
    A hint between `seen` and `wait` makes the wait return at once: nobody sleeps through news.
    """
    wakeups = subject.wakeups
    seen = wakeups.seen("t")
    wakeups.hint("t")
    async with asyncio.timeout(PATIENCE_S):
        await wakeups.wait("t", seen=seen, until=None)
    assert wakeups.seen("t") > seen


@_case
async def topics_are_apart(subject: Subject) -> None:
    """
    A hint for another topic wakes nobody here.
    """
    wakeups = subject.wakeups
    waiter = asyncio.ensure_future(wakeups.wait("mine", seen=wakeups.seen("mine"), until=None))
    await asyncio.sleep(0)
    wakeups.hint("other")
    for _ in range(5):
        await asyncio.sleep(0)
    assert not waiter.done()
    wakeups.hint("mine")
    async with asyncio.timeout(PATIENCE_S):
        await waiter


@_case
async def a_wait_ends_at_its_time(subject: Subject) -> None:
    """
    Without a hint the wait ends at `until`, and not before.
    """
    until = subject.soon(0.03)
    async with asyncio.timeout(PATIENCE_S):
        await subject.wakeups.wait("t", seen=subject.wakeups.seen("t"), until=until)
    assert subject.clock.now() >= until - timedelta(milliseconds=2)


@_case
async def a_time_that_is_past_is_now(subject: Subject) -> None:
    """
    Waiting until an earlier time returns at once.
    """
    async with asyncio.timeout(PATIENCE_S):
        await subject.wakeups.wait("t", seen=subject.wakeups.seen("t"), until=subject.soon(-3600))


@_case
async def a_cancelled_waiter_leaves_nothing_behind(subject: Subject) -> None:
    """
    A waiter that gave up does not keep the next hint from the others.
    """
    wakeups = subject.wakeups
    seen = wakeups.seen("t")
    quitter, stayer = (asyncio.ensure_future(wakeups.wait("t", seen=seen, until=None)) for _ in range(2))
    await asyncio.sleep(0)
    quitter.cancel()
    await asyncio.gather(quitter, return_exceptions=True)
    wakeups.hint("t")
    async with asyncio.timeout(PATIENCE_S):
        await stayer
