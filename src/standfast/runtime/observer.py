"""
Watching: one batched look per engine, at every hint and every few seconds, for all attempts that may be alive.

Belongs here: which handles are watched and when they are looked at. The list in memory is only whom to ask about; it is
loaded from the store at the start and never acted on. A look that shows nothing new tells nobody and writes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import msgspec
import structlog

from standfast.core.job.machine import Step
from standfast.core.job.observation import Observation, Unreachable
from standfast.core.job.state import HOLDS_SLOT
from standfast.ports.engine import Capability
from standfast.ports.store import Watched
from standfast.runtime.lane import Lane
from standfast.runtime.turn import Told
from standfast.runtime.world import World

log = structlog.get_logger(__name__)

SILENCES = 2
"""Looks in a row without an answer before a running job is told; one lost packet is no news."""

TELL_AGAIN_S = 60.0
"""How long an unchanged observation is not told again."""


class Observer:
    """
    Watches the attempts of one engine.
    """

    def __init__(self, world: World, lane: Lane) -> None:
        self._world = world
        self._lane = lane
        hints = Capability.HINTS in lane.engine.capabilities
        self._every_s = world.limits.look_every_s if hints else world.limits.poll_every_s
        self._watched: dict[str, str] = {}
        self._last: dict[str, Observation] = {}
        self._silences: dict[str, int] = {}
        self._hinted: set[str] = set()
        self._hurrying = False
        self._one_at_a_time = asyncio.Lock()
        self._some = asyncio.Event()
        self.looked = asyncio.Event()
        lane.launched = self.launched

    def load(self, watched: Iterable[Watched]) -> None:
        """
        Watch these from now on; the next look comes at once.
        """
        self._watched.update((one.handle, one.uid) for one in watched)
        self._some.set()

    def hint(self, handle: str) -> None:
        """
        Something about the handle may have changed.
        """
        if handle in self._watched:
            self._hinted.add(handle)
            if handle not in self._lane.launching:
                self._hurry()

    def launched(self, handle: str) -> None:
        """
        The launch was answered; a hint that came while it was under way is followed now, into the same turn.
        """
        if handle in self._hinted:
            self._hurry()

    def moved(self, steps: Iterable[Step]) -> None:
        """
        Follow what was committed: watch whoever holds a slot, forget whoever does not.
        """
        for s in steps:
            after = s.after
            if not after.attempts:
                continue
            handle = after.attempts[-1].handle
            if after.phase in HOLDS_SLOT:
                if handle not in self._watched:
                    self._watched[handle] = after.uid
                    if not self._some.is_set():
                        self._some.set()
                elif s.before is None or s.before.phase is not after.phase:
                    self._last.pop(handle, None)
            elif self._watched.pop(handle, None) is not None:
                self._last.pop(handle, None)
                self._silences.pop(handle, None)
                self._hinted.discard(handle)

    async def run(self) -> None:
        """
        Look at everything now and then until cancelled; sleeps without a timer while nothing is watched.
        """
        await self._look_at(self._watched)
        self.looked.set()
        loop = asyncio.get_running_loop()
        forget_at = loop.time() + TELL_AGAIN_S
        while True:
            if not self._watched:
                self._some.clear()
                await self._some.wait()
            await self._world.clock.sleep(self._every_s)
            if loop.time() >= forget_at:
                # What was told may have been lost on its way: tell the levels again now and then.
                self._last.clear()
                forget_at = loop.time() + TELL_AGAIN_S
            await self._look_at(self._watched)

    def _hurry(self) -> None:
        if not self._hurrying:
            self._hurrying = True
            self._lane.spawn(self._look_at_hinted())

    async def _look_at_hinted(self) -> None:
        launching = self._lane.launching
        try:
            while ready := sorted(handle for handle in self._hinted if handle not in launching):
                self._hinted.difference_update(ready)
                await self._look_at(ready)
        finally:
            self._hurrying = False

    async def _look_at(self, handles: Iterable[str]) -> None:
        """
        One look at a time, so that no answer is overtaken by an older one.
        """
        async with self._one_at_a_time:
            asked = [handle for handle in handles if handle not in self._lane.launching]
            if not asked:
                return
            seen = await self._lane.look(asked)
            watched = self._watched
            self._lane.tell(
                [
                    Told(watched[handle], handle, observation)
                    for handle, observation in seen.items()
                    if handle in watched and self._news(handle, observation)
                ]
            )

    def _news(self, handle: str, seen: Observation) -> bool:
        """
        Whether this look shows something that the job has not been told.
        """
        if isinstance(seen, Unreachable):
            self._silences[handle] = self._silences.get(handle, 0) + 1
            if self._silences[handle] < SILENCES:
                return False
        else:
            self._silences.pop(handle, None)
        last = self._last.get(handle)
        self._last[handle] = seen
        return last is None or msgspec.structs.replace(last, at=seen.at) != seen
