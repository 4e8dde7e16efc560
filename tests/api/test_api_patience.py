"""
How long answers may take: each its own time, by one timer.
"""

from __future__ import annotations

import asyncio
import time

import pytest

from standfast.api.patience import Patience


async def _wait(patience: Patience, seconds: float, *, work_s: float = 3600.0) -> bool:
    """
    Be under way for that long; whether it was ended for taking too long.
    """
    task = patience.begin(time.perf_counter(), seconds)
    try:
        await asyncio.sleep(work_s)
    except asyncio.CancelledError:
        if patience.end(task):
            return True
        raise
    finally:
        patience.end(task)
    return False


async def test_each_is_ended_at_its_own_time() -> None:
    """
    Those that begin later are given as long; who is done in time is left alone, also for what it does afterwards.
    """
    patience = Patience()
    began = time.perf_counter()
    ends: list[float] = []

    async def one(delay_s: float) -> None:
        await asyncio.sleep(delay_s)
        assert await _wait(patience, 0.1)
        ends.append(time.perf_counter() - began - delay_s)
        await asyncio.sleep(0)

    async def quick() -> None:
        assert not await _wait(patience, 0.1, work_s=0.0)
        await asyncio.sleep(0.2)

    async with asyncio.timeout(20):
        await asyncio.gather(one(0.0), one(0.03), one(0.06), quick())
        assert await _wait(patience, 0.01), "the timer is set again after a rest"
    assert len(ends) == 3 and all(end >= 0.09 for end in ends)


async def test_a_cancel_of_somebody_else_is_no_lateness() -> None:
    """
    It goes through.
    """
    patience = Patience()
    task = asyncio.create_task(_wait(patience, 3600.0))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
