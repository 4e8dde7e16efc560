"""
The machine's clock, anchored once so that a step of it moves nothing.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta


class SystemClock:
    """
    UTC as it was at the start, plus the time since on a clock that cannot be set.

    CLOCK_BOOTTIME also counts suspended time. Source: clock_gettime(2), Linux man-pages 6.03.
    """

    def __init__(self) -> None:
        self._source = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
        self._anchor = datetime.now(UTC)
        self._zero_ns = time.clock_gettime_ns(self._source)

    def now(self) -> datetime:
        """
        Aware UTC, in microseconds.
        """
        passed_ns = time.clock_gettime_ns(self._source) - self._zero_ns
        return self._anchor + timedelta(microseconds=passed_ns // 1000)

    def skew_s(self) -> float:
        """
        How far the machine's clock has been set since the start, in seconds; positive if it is ahead of ours.
        """
        return (datetime.now(UTC) - self.now()).total_seconds()

    async def sleep(self, seconds: float) -> None:
        """
        Return after `seconds`.
        """
        if seconds > 0:
            await asyncio.sleep(seconds)
