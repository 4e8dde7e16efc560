"""
Control planes on the stage: born over what is stored, killed at any point, born again.

Belongs here: wiring the real runtime to the stage, and taking all that is in memory away from a dead one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, cast

from standfast.core.errors import Unavailable
from standfast.ports.engine import Engine
from standfast.ports.store import Catalogue, JobStore
from standfast.runtime.intake import Intake
from standfast.runtime.loop import Loop
from standfast.runtime.world import Limits, World
from standfast.stores.memory.blobs import MemoryBlobs
from standfast.system.wakeups import LoopWakeups
from standfast.testing.simulation.loop import VirtualClock
from standfast.testing.simulation.network import Network
from standfast.testing.simulation.stage import Life, Stage
from standfast.testing.simulation.storage import Storage

T = TypeVar("T")

OTHER_SLOTS = 2
"""Slots of the queue `other`, fewer than the engine has."""


class Lives:
    """
    At most one control plane at a time, and whoever waits for one.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._born = asyncio.Event()
        self._life: Life | None = None
        self._loop: Loop | None = None
        self._intake: Intake | None = None

    async def keep(self, downtime_s: Callable[[], float]) -> None:
        """
        See to it that there is a control plane, until cancelled; between two, wait `downtime_s()`.
        """
        while True:
            life = await self._bear()
            await life.over.wait()
            await self._bury()
            await asyncio.sleep(downtime_s())

    async def end(self) -> None:
        """
        Stop the present one in good order.
        """
        if self._loop is not None and self._life is not None and not self._life.dead:
            await self._loop.stop()
        if self._life is not None:
            self._life.over.set()
        await self._bury()

    def kill(self) -> None:
        """
        End the present one, wherever it is.
        """
        if self._life is not None:
            self._stage.kill(self._life, "any point")

    async def stop(self) -> None:
        """
        Let the present one stop in good order, as a deployment would.
        """
        life = self._life
        if self._loop is None or life is None or life.dead:
            return
        self._stage.note("stops in good order")
        stopping = self._stage.loop.create_task(self._loop.stop())
        over = self._stage.loop.create_task(life.over.wait())
        try:
            await asyncio.wait({stopping, over}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            life.over.set()

    async def ask(self, question: Callable[[Intake], Coroutine[Any, Any, T]]) -> T:
        """
        Ask whoever lives, again and again until there is an answer; the question is the same each time.

        Raises:
            StandfastError: The answer, unless it is Unavailable.
        """
        while True:
            await self._born.wait()
            life, intake = self._life, self._intake
            assert life is not None and intake is not None
            asking = self._stage.loop.create_task(question(intake))
            over = self._stage.loop.create_task(life.over.wait())
            await asyncio.wait({asking, over}, return_when=asyncio.FIRST_COMPLETED)
            over.cancel()
            if asking.done() and not asking.cancelled():
                try:
                    return asking.result()
                except Unavailable:
                    await asyncio.sleep(0.5)
            else:
                asking.cancel()
                await asyncio.sleep(0.1)

    async def _bear(self) -> Life:
        stage = self._stage
        while True:
            stage.lives += 1
            life = self._life = Life(stage.lives)
            skew_s = stage.luck.uniform(-stage.mood.skew_s, stage.mood.skew_s)
            clock = VirtualClock(stage.loop, skew_s)
            storage = Storage(stage, life)
            world = World(
                store=cast(JobStore, storage),
                catalogue=cast(Catalogue, storage),
                engines={"fake": cast(Engine, Network(stage, life, clock))},
                clock=clock,
                ids=stage.ids,
                wakeups=LoopWakeups(clock),
                blobs=MemoryBlobs(),
                limits=Limits(
                    slots=stage.mood.slots,
                    queue_slots={"other": OTHER_SLOTS},
                    launches=stage.mood.launches,
                    sweep_every_s=30.0,
                ),
            )
            self._loop = Loop(world)
            self._intake = Intake(world, self._loop)
            stage.note(f"a control plane starts, its clock {skew_s:+.1f} s off")
            starting = stage.loop.create_task(self._loop.start())
            over = stage.loop.create_task(life.over.wait())
            await asyncio.wait({starting, over}, return_when=asyncio.FIRST_COMPLETED)
            if starting.done() and not life.dead and starting.exception() is None:
                over.cancel()
                self._born.set()
                return life
            if starting.done() and not isinstance(starting.exception(), Unavailable | None):
                starting.result()
            life.over.set()
            await self._bury()
            await asyncio.sleep(1.0)

    async def _bury(self) -> None:
        """
        Take away everything in memory: each task that is neither ours nor outside.
        """
        self._born.clear()
        self._loop = self._intake = None
        while True:
            left = [task for task in _by_name(asyncio.all_tasks()) if not self._spared(task)]
            if not left:
                return
            for task in left:
                task.cancel()
            await asyncio.wait(left)

    def _spared(self, task: asyncio.Task[Any]) -> bool:
        return task is asyncio.current_task() or self._stage.survives(task) or task.get_name().startswith("story")


def _by_name(tasks: set[asyncio.Task[Any]]) -> list[asyncio.Task[Any]]:
    """
    In an order that does not depend on where objects lie in memory.
    """
    return sorted(tasks, key=lambda task: (len(task.get_name()), task.get_name()))
