"""
What every clock must do: one case per fact, each a coroutine over a fresh clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC

from standfast.ports.clock import Clock

Case = Callable[[Clock], Awaitable[None]]
CASES: list[Case] = []
"""All cases."""


def _case(case: Case) -> Case:
    CASES.append(case)
    return case


@_case
async def time_is_aware_and_utc(clock: Clock) -> None:
    """
    Every answer names its zone, and that is UTC.
    """
    assert clock.now().tzinfo is UTC


@_case
async def time_never_goes_back(clock: Clock) -> None:
    """
    A thousand answers are in order.
    """
    seen = [clock.now() for _ in range(1000)]
    assert seen == sorted(seen)


@_case
async def sleep_lasts_as_long_by_its_own_time(clock: Clock) -> None:
    """
    After a sleep, at least that much of this clock's time has passed; a microsecond of rounding is allowed.
    """
    before = clock.now()
    await clock.sleep(0.02)
    assert (clock.now() - before).total_seconds() >= 0.02 - 1e-5


@_case
async def no_sleep_is_no_wait(clock: Clock) -> None:
    """
    Zero and negative sleeps return without letting time pass on a clock that is driven by hand.
    """
    async with asyncio.timeout(1):
        for seconds in (0.0, -1.0, -1e9):
            await clock.sleep(seconds)


@_case
async def a_sleeper_can_be_cancelled(clock: Clock) -> None:
    """
    Whoever waits can be told to stop waiting.
    """
    sleeper = asyncio.get_running_loop().create_task(clock.sleep(3600))
    await asyncio.sleep(0)
    sleeper.cancel()
    assert isinstance((await asyncio.gather(sleeper, return_exceptions=True))[0], asyncio.CancelledError)
