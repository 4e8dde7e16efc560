"""
The engine as one life sees it: over a network on which requests and replies are late, lost, and outlive their sender.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from standfast.core.errors import FieldError, Unavailable
from standfast.core.job.inputs import Remainder
from standfast.core.job.observation import Observation
from standfast.core.job.spec import Spec
from standfast.ports.clock import Clock
from standfast.ports.engine import Capability, Chunk, Hint, Order
from standfast.testing.simulation.stage import Life, Stage

T = TypeVar("T")


class Network:
    """
    Stands in for the engine in one life.
    """

    def __init__(self, stage: Stage, life: Life, clock: Clock) -> None:
        self._stage = stage
        self._life = life
        self._clock = clock
        self._engine = stage.engine

    @property
    def name(self) -> str:
        """
        The engine's.
        """
        return self._engine.name

    @property
    def capabilities(self) -> frozenset[Capability]:
        """
        The engine's.
        """
        return self._engine.capabilities

    async def open(self, hint: Hint) -> None:
        """
        Hints go missing, and never reach the dead.
        """

        def told(handle: str) -> None:
            if not self._life.dead and not self._stage.chance(0.3):
                hint(handle)

        await self._call("open", lambda: self._engine.open(told))

    def check(self, spec: Spec) -> list[FieldError]:
        """
        The engine's.
        """
        return self._engine.check(spec)

    def call(self, order: Order) -> Mapping[str, Any]:
        """
        The engine's.
        """
        return self._engine.call(order)

    async def incarnation(self) -> str:
        """
        Over the network.
        """
        return await self._call("incarnation", self._engine.incarnation)

    async def launch(self, order: Order) -> Observation:
        """
        Over the network; whatever is sent must have been stored before.
        """
        stored = self._stage.jobs.get(order.uid)
        known = stored is not None and any(a.handle == order.handle for a in stored.attempts)
        self._stage.demand(known, f"{order.handle} was sent before it was stored")
        return await self._call(f"launch {order.handle[-6:]}", lambda: self._launched(order))

    async def look(self, handles: Sequence[str]) -> Mapping[str, Observation]:
        """
        Over the network.
        """
        return await self._call("look", lambda: self._looked(handles))

    async def halt(self, handle: str, *, grace_s: float) -> None:
        """
        Over the network.
        """
        await self._call(f"halt {handle[-6:]}", lambda: self._engine.halt(handle, grace_s=grace_s))

    async def handles(self) -> Sequence[str]:
        """
        Over the network.
        """
        return await self._call("handles", self._engine.handles)

    async def read(self, handle: str, *, stream: str, offset: int, limit: int) -> Chunk:
        """
        Over the network.
        """
        return await self._call("read", lambda: self._engine.read(handle, stream=stream, offset=offset, limit=limit))

    async def remove(self, handle: str, what: Remainder) -> None:
        """
        Over the network.
        """
        await self._call("remove", lambda: self._engine.remove(handle, what))

    async def close(self) -> None:
        """
        Nothing is sent.
        """
        await self._engine.close()

    async def _launched(self, order: Order) -> Observation:
        """
        Adapters date what they see by the control plane's clock.
        """
        return msgspec.structs.replace(await self._engine.launch(order), at=self._clock.now())

    async def _looked(self, handles: Sequence[str]) -> Mapping[str, Observation]:
        seen, now = await self._engine.look(handles), self._clock.now()
        return {handle: msgspec.structs.replace(one, at=now) for handle, one in seen.items()}

    async def _call(self, call: str, effect: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """
        Send, let it arrive whatever becomes of the sender, and bring the answer back.
        """
        stage, mood, life = self._stage, self._stage.mood, self._life
        if not life.dead and stage.chance(mood.crash):
            stage.kill(life, f"{call}.before")
        if life.dead:
            await life.halt()
        late_s = stage.luck.uniform(0, mood.late_s) if stage.chance(mood.late) else 0.0
        if stage.chance(mood.lose_request):
            stage.note(f"lost on its way: {call}")
            await asyncio.sleep(late_s)
            raise Unavailable("no answer", code="engine_unreachable")
        if late_s:
            stage.note(f"{late_s:.1f} s late: {call}")
        answer = await asyncio.shield(stage.outside(_later(late_s, effect)))
        if not life.dead and stage.chance(mood.crash):
            stage.kill(life, f"{call}.after")
        if life.dead:
            await life.halt()
        if stage.chance(mood.late):
            await asyncio.sleep(stage.luck.uniform(0, mood.late_s))
        if life.dead:
            await life.halt()
        if stage.chance(mood.lose_reply):
            stage.note(f"answer lost: {call}")
            raise Unavailable("no answer", code="engine_unreachable")
        return answer


async def _later(late_s: float, effect: Callable[[], Coroutine[Any, Any, T]]) -> T:
    if late_s:
        await asyncio.sleep(late_s)
    return await effect()
