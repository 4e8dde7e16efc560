"""
How many slots are free: the store's kept counters, less every slot given out since they were asked for.

Belongs here: the counting, and who must be told when it changes. Not here: who gets a slot (`admission`).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TypeVar

from standfast.core.job.state import HOLDS_SLOT, Phase
from standfast.runtime.world import FREED, QUEUED, TURN, World

K = TypeVar("K", bound=Hashable)


@dataclass(slots=True)
class View:
    """
    The counters at one time. over: of the slots given out, those that the counters were sure to show already; settled:
    how many commits were over; queued_seen, freed_seen: the hints so far.
    """

    over: dict[str, int]
    settled: int
    queued_seen: int
    freed_seen: int
    active: dict[str, int] = field(default_factory=dict)
    queued: dict[tuple[str, str], int] = field(default_factory=dict)


class Room:
    """
    Slots of engines and queues, so that limits hold while commits that take one are under way.

    Only this process gives slots, so an old view never shows more room than there is: a slot that was given out after
    the counters were asked for, or whose commit was under way then, is taken off.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._given: dict[str, int] = {}
        self._over: dict[str, int] = {}
        self._under_way = 0
        self._settled = 0
        self._short = False
        self.view: View | None = None
        """The latest."""

    async def read(self) -> View:
        """
        Ask the store.

        Raises:
            Unavailable: It does not answer.
        """
        seen = self._world.wakeups.seen
        view = View(self._over.copy(), self._settled, seen(QUEUED), seen(FREED))
        for slot in await self._world.catalogue.slots():
            if slot.phase is Phase.QUEUED:
                _add(view.queued, (slot.engine, slot.queue), slot.count)
            elif slot.phase in HOLDS_SLOT:
                _add(view.active, _engine(slot.engine), slot.count)
                _add(view.active, _queue(slot.queue), slot.count)
        self.view = view
        return view

    def of_engine(self, view: View, engine: str) -> int:
        """
        Free slots of the engine, as far as it bounds them.
        """
        return self._world.limits.of_engine(engine) - self._taken(view, _engine(engine))

    def of_queue(self, view: View, queue: str) -> int | None:
        """
        Free slots of the queue over all engines; None: only the engine bounds it.
        """
        limit = self._world.limits.of_queue(queue)
        return None if limit is None else limit - self._taken(view, _queue(queue))

    def give(self, engine: str, queue: str) -> None:
        """
        Take a slot, from now until `settle` and from then on in the store's counters.
        """
        _add(self._given, _engine(engine), 1)
        _add(self._given, _queue(queue), 1)
        self._under_way += 1

    def settle(self, engine: str, queue: str, *, won: bool) -> None:
        """
        The commit of a given slot is over; one that did not win gives it back.
        """
        counter, by = (self._over, 1) if won else (self._given, -1)
        _add(counter, _engine(engine), by)
        _add(counter, _queue(queue), by)
        self._under_way -= 1
        self._settled += 1
        if self._short or not won:
            # Somebody was sent away while this slot was counted twice, or may have it now.
            self._short = False
            self._world.wakeups.hint(TURN)

    def sent_away(self, view: View) -> None:
        """
        Somebody in the queue found no room in this view; sees to it that the queue is looked through again if there was
        some after all, because a slot was counted twice.
        """
        if self._under_way:
            self._short = True
        elif self._settled != view.settled:
            self._world.wakeups.hint(TURN)

    def better(self, view: View) -> bool:
        """
        Whether the counters, asked again, may show more room than this view.
        """
        return self._settled != view.settled or self._world.wakeups.seen(FREED) != view.freed_seen

    def _taken(self, view: View, name: str) -> int:
        return view.active.get(name, 0) + self._given.get(name, 0) - view.over.get(name, 0)


def _engine(name: str) -> str:
    return f"engine {name}"


def _queue(name: str) -> str:
    return f"queue {name}"


def _add(counts: dict[K, int], name: K, count: int) -> None:
    counts[name] = counts.get(name, 0) + count
