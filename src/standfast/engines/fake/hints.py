"""
Hints of the fake engine: a timer for every change that lies ahead.
"""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

from standfast.engines.fake.runs import Run
from standfast.ports.clock import Clock
from standfast.ports.engine import Hint


class Hints:
    """
    Tells whoever listens, and starts no timer while nobody does.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._hint: Hint | None = None
        self._timers: set[asyncio.Task[None]] = set()

    def to(self, hint: Hint | None) -> None:
        """
        Tell `hint` from now on, and nobody else; what was announced before is announced anew by the caller.
        """
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        self._hint = hint

    def announce(self, run: Run) -> None:
        """
        Tell of each change of the run that lies ahead.
        """
        if self._hint is None:
            return
        starts_at = run.started_at + timedelta(seconds=run.script.starting_s)
        for at in sorted({starts_at, run.ends_at, run.gone_at}):
            self.at(run.handle, at)

    def at(self, handle: str, at: datetime) -> None:
        """
        Tell of the handle then, unless that is past.
        """
        seconds = (at - self._clock.now()).total_seconds()
        if self._hint is not None and seconds > 0:
            task = asyncio.get_running_loop().create_task(self._later(handle, seconds))
            self._timers.add(task)
            task.add_done_callback(self._timers.discard)

    async def _later(self, handle: str, seconds: float) -> None:
        await self._clock.sleep(seconds)
        if self._hint is not None:
            self._hint(handle)
