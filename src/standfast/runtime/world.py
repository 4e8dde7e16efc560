"""
Everything the runtime may touch, handed to it once: the ports and the bounds.

Belongs here: plain holders. Not here: who fills them (`standfast.wiring`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from standfast.ports.blobs import Blobs
from standfast.ports.clock import Clock
from standfast.ports.engine import Engine
from standfast.ports.ids import Ids
from standfast.ports.store import Catalogue, JobStore
from standfast.ports.wakeups import Wakeups

TURN = "turn"
"""Wakeup topic: a job was queued, or a slot came free."""

QUEUED = "queued"
"""Wakeup topic: a job was queued."""

FREED = "freed"
"""Wakeup topic: a slot came free."""

DUE = "due"
"""Wakeup topic: a wake time was set."""

EVENTS = "events"
"""Wakeup topic: events were committed."""


@dataclass(frozen=True)
class Limits:
    """
    Bounds of the loop; every one of them has a value, so that nothing grows without end.

    engine_slots, queue_slots: jobs that may hold a slot at once, by name, `slots` for those not named. launches: calls
    to launch under way at once per engine. batch: jobs per turn. call_timeout_s: longest wait for one engine call.
    drain_s: longest wait for calls under way when stopping. look_every_s: between two looks of the observer at one
    engine that hints; engines without hints are looked at every `poll_every_s`. sweep_every_s: between two sweeps.
    """

    slots: int = 64
    engine_slots: Mapping[str, int] = field(default_factory=dict)
    queue_slots: Mapping[str, int] = field(default_factory=dict)
    launches: int = 8
    batch: int = 512
    call_timeout_s: float = 30.0
    drain_s: float = 10.0
    look_every_s: float = 10.0
    poll_every_s: float = 1.0
    sweep_every_s: float = 60.0

    def of_engine(self, name: str) -> int:
        """
        Slots of that engine.
        """
        return self.engine_slots.get(name, self.slots)

    def of_queue(self, name: str) -> int | None:
        """
        Slots of that queue over all engines; None: only the engine bounds it.
        """
        return self.queue_slots.get(name)


@dataclass(frozen=True)
class World:
    """
    The ports, wired.
    """

    store: JobStore
    catalogue: Catalogue
    engines: Mapping[str, Engine]
    clock: Clock
    ids: Ids
    wakeups: Wakeups
    blobs: Blobs
    limits: Limits = field(default_factory=Limits)
