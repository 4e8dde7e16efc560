"""
An event loop whose time is virtual: nothing waits, and time jumps to whatever is due next.

Belongs here: the loop and the clocks read from it. It is asyncio's own loop, with a selector that never sleeps, so what
runs on it is the real code in the real order of the scheduler.
"""

from __future__ import annotations

import asyncio
import selectors
from datetime import datetime, timedelta
from typing import Any

from standfast.testing.builders import START


class NothingLeft(Exception):
    """
    Everybody waits for something that nobody will do.
    """


class _Jumping(selectors.DefaultSelector):
    """
    A selector that lets virtual time pass instead of waiting for real time.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise NothingLeft
            self.now_s += max(0.0, timeout)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """
    The loop to run a story on; `time` is virtual seconds since its start.
    """

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        """
        Virtual seconds.
        """
        return self._jumping.now_s

    def let_go(self) -> None:
        """
        Cancel what is left, and close.
        """
        left = asyncio.all_tasks(self)
        for task in left:
            task.cancel()
        if left:
            self.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self.close()


class VirtualClock:
    """
    A clock port over the loop, `skew_s` seconds off.
    """

    def __init__(self, loop: VirtualLoop, skew_s: float = 0.0) -> None:
        self._loop = loop
        self._zero = START + timedelta(seconds=skew_s)

    def now(self) -> datetime:
        """
        Virtual UTC.
        """
        return self._zero + timedelta(seconds=round(self._loop.time(), 6))

    async def sleep(self, seconds: float) -> None:
        """
        Let virtual time pass.
        """
        if seconds > 0:
            await asyncio.sleep(seconds)


class CountingIds:
    """
    An ids port that gives the same names in every telling of a seed.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._count = 0

    def job_uid(self) -> str:
        """
        `job_` and 26 digits, which are in the alphabet.
        """
        self._count += 1
        return f"job_{self._seed % 10**10:010d}{self._count:016d}"

    def request_id(self) -> str:
        """
        A request id for nobody in particular.
        """
        self._count += 1
        return f"request-{self._count}"

    def secret(self) -> str:
        """
        Not secret here.
        """
        return "s" * 43
