"""
The bench on which an engine is judged: what an adapter's author provides, and the questions that several cases ask.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from standfast.core.job.attempt import handle_of
from standfast.core.job.evidence import Ending, Finding
from standfast.core.job.observation import Ended, Observation, Present
from standfast.core.job.spec import Resources, Spec
from standfast.ports.engine import Engine, Order
from standfast.system.ids import SystemIds

O = TypeVar("O", bound=Observation)  # noqa: E741 - an observation


@dataclass(frozen=True)
class Programs:
    """
    How to say things to this engine, as `spec.program`; None: it cannot be said.

    succeed, fail: end at once, well or badly (with `fail_code`, if the engine knows exit codes). last: runs for minutes
    unless stopped, and obeys. brief: runs for a moment, then ends well. stubborn: runs for minutes and does not obey,
    only force ends it. wrong: refused by `check`. prints: writes exactly `printed` to stdout, and ends well.
    """

    succeed: Mapping[str, Any]
    fail: Mapping[str, Any]
    last: Mapping[str, Any]
    wrong: Mapping[str, Any]
    brief: Mapping[str, Any] | None = None
    stubborn: Mapping[str, Any] | None = None
    prints: Mapping[str, Any] | None = None
    printed: bytes = b""
    fail_code: int = 1


@dataclass(frozen=True)
class Subject:
    """
    One engine to be judged, on which nothing has run yet.

    make: an adapter object over the same engine each time, as the next start of a control plane would make it; not
    opened yet. starts: how often user code started under a handle; None if nobody can tell. patience_s: longest wait
    for what must happen by itself.
    """

    make: Callable[[], Engine]
    programs: Programs
    starts: Callable[[str], int] | None = None
    patience_s: float = 20.0
    ids: SystemIds = field(default_factory=SystemIds)

    @asynccontextmanager
    async def opened(self, hint: Callable[[str], None] = lambda handle: None) -> AsyncIterator[Engine]:
        """
        An adapter, opened, and closed afterwards; what runs goes on.
        """
        engine = self.make()
        await engine.open(hint)
        try:
            yield engine
        finally:
            await engine.close()

    def order(self, engine: Engine, program: Mapping[str, Any], **spec: Any) -> Order:
        """
        An order under a new handle.
        """
        uid = self.ids.job_uid()
        asked = Spec(engine=engine.name, program=program, **spec)
        return Order(
            handle=handle_of(uid, 1),
            uid=uid,
            namespace="contract",
            name="contract",
            attempt=1,
            spec=asked,
            resources=Resources(),
        )

    async def running(self, engine: Engine) -> Order:
        """
        An order that was launched and is seen alive, its user code too if anyone can tell.
        """
        order = self.order(engine, self.programs.last)
        await engine.launch(order)
        await self.until(engine, order.handle, Present)
        await self.ran_once(order.handle)
        return order

    async def until(self, engine: Engine, handle: str, kind: type[O]) -> O:
        """
        The first look that shows the handle so.
        """
        async with asyncio.timeout(self.patience_s):
            while not isinstance(seen := await look(engine, handle), kind):  # noqa: ASYNC110 - looks are all there is
                await asyncio.sleep(0.01)
        return seen

    async def end(self, engine: Engine, handle: str) -> Ended:
        """
        The attempt's end, once its death is proven as far as this engine can.
        """
        async with asyncio.timeout(self.patience_s):
            while True:
                seen = await self.until(engine, handle, Ended)
                if seen.gone.value == "proven" or "proves_gone" not in engine.capabilities:
                    return seen
                await asyncio.sleep(0.01)

    async def tidy(self, engine: Engine, *handles: str) -> None:
        """
        Leave nothing running.
        """
        for handle in handles:
            await engine.halt(handle, grace_s=0.0)
            await self.until(engine, handle, Ended)

    async def ran_once(self, handle: str) -> None:
        """
        User code started exactly once under the handle, if anyone can tell; it may take a moment to note that.
        """
        if self.starts is not None:
            async with asyncio.timeout(self.patience_s):
                while self.starts(handle) < 1:  # noqa: ASYNC110 - looks are all there is
                    await asyncio.sleep(0.01)
            assert self.starts(handle) == 1


Case = Callable[[Subject], Awaitable[None]]


class Cases(list[Case]):
    """
    Cases in the order they are best read.
    """

    def case(self, case: Case) -> Case:
        """
        Decorates a coroutine function as one of them.
        """
        self.append(case)
        return case


async def look(engine: Engine, handle: str) -> Observation:
    """
    What is the case with one handle.
    """
    return (await engine.look([handle]))[handle]


def strongest(ended: Ended) -> Finding:
    """
    The strongest finding that says anything.
    """
    return max((f for f in ended.findings if f.ending is not Ending.UNKNOWN), key=lambda f: f.rank)
