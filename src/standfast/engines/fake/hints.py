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

    def announce(self, run: Run, now: datetime) -> None:
        """
        Tell of each change of the run that lies ahead of `now`, the instant that the engine's answer is dated by.
        """
        if self._hint is None:
            return
        starts_at = run.started_at + timedelta(seconds=run.script.starting_s)
        for at in sorted({starts_at, run.ends_at, run.gone_at}):
            self.at(run.handle, at, now)

    def at(self, handle: str, at: datetime, now: datetime) -> None:
        """
        Tell of the handle then, unless an answer dated `now` shows it; what passed since then is news all the same.
        """
        if self._hint is not None and at > now:
            task = asyncio.get_running_loop().create_task(self._later(handle, (at - now).total_seconds()))
            self._timers.add(task)
            task.add_done_callback(self._timers.discard)

    async def _later(self, handle: str, seconds: float) -> None:
        await self._clock.sleep(seconds)
        if self._hint is not None:
            self._hint(handle)
