"""
The store as one life sees it: it may die before or after each call, and each call may be refused.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from typing import Any

from standfast.core.errors import Unavailable
from standfast.core.job.machine import Step
from standfast.core.job.state import Job
from standfast.ports.store import Committed
from standfast.testing.simulation.stage import Life, Stage


class Storage:
    """
    Stands in for the store in one life. A refused commit is not durable, as the port says; a crash after one is.
    """

    def __init__(self, stage: Stage, life: Life) -> None:
        self._stage = stage
        self._life = life

    async def commit(self, steps: Sequence[Step]) -> list[Committed]:
        """
        As the port says, in one piece.
        """
        await self._enter("commit")
        answers = await self._stage.store.commit(steps)
        for step, answer in zip(steps, answers, strict=True):
            if isinstance(answer, Job):
                self._stage.saw_commit(step, answer)
        await self._leave("commit")
        return answers

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._stage.store, name)
        assert inspect.iscoroutinefunction(method)

        async def call(*args: Any, **named: Any) -> Any:
            await self._enter(name)
            answer = await method(*args, **named)
            await self._leave(name)
            return answer

        return call

    async def _enter(self, call: str) -> None:
        stage, life = self._stage, self._life
        if stage.chaos and stage.luck.random() < 0.2:
            await asyncio.sleep(stage.luck.choice([0.0, 0.001, 0.05]))
        if not life.dead and stage.chance(stage.mood.crash):
            stage.kill(life, f"{call}.before")
        if life.dead:
            await life.halt()
        if stage.chance(stage.mood.unavailable):
            raise Unavailable("the store does not answer", code="store_unavailable")

    async def _leave(self, call: str) -> None:
        stage, life = self._stage, self._life
        if not life.dead and stage.chance(stage.mood.crash):
            stage.kill(life, f"{call}.after")
        if life.dead:
            await life.halt()
