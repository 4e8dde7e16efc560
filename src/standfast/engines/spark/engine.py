"""
The Spark engine: spark-submit as a process tree that outlives the control plane.

Belongs here: what Spark needs beyond the process engine - a look at the machine before a launch, and its own texts in
the findings. Not here: command lines (`client`), texts (`translate`).
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from standfast.core.errors import Unavailable
from standfast.core.failure import Failure, FailureClass
from standfast.core.job import observation as o
from standfast.core.job.evidence import Ending
from standfast.core.job.observation import Observation
from standfast.core.job.spec import digest
from standfast.engines.process.engine import ProcessEngine
from standfast.engines.process.launcher import Command
from standfast.engines.process.observe import Absent, Look, observe
from standfast.engines.process.root import Root, RootUnusable
from standfast.engines.process.void import Voided, void
from standfast.engines.spark import client, program, rules, translate
from standfast.ports.engine import EngineContext, Order

TAIL_BYTES = 64 * 1024
"""Of each stream, searched for Spark's own words: after an error it logs its whole shutdown."""


class SparkEngine(ProcessEngine):
    """
    Spark applications in client mode, found again by ticket.
    """

    def __init__(self, context: EngineContext) -> None:
        super().__init__(
            context, name="spark", check=program.check, make_command=spark_command, failure_rules=rules.RULES
        )

    def call(self, order: Order) -> Mapping[str, Any]:
        """
        The spark-submit that a keeper would run, secrets masked.
        """
        made = dict(super().call(order))
        shown = dict(made["command"])
        shown["argv"] = client.masked(tuple(shown["argv"]))
        shown["shell_equivalent"] = shlex.join(shown["argv"])
        return {**made, "command": shown}

    async def launch(self, order: Order) -> Observation:
        """
        Start the attempt unless its handle was ever used or this machine lacks what it needs; then look.

        Raises:
            Unavailable: The root cannot be used; nothing was started.
        """
        reason = await asyncio.to_thread(_missing, order)
        if reason is None:
            return await super().launch(order)
        return await self._refuse(order, reason)

    async def _refuse(self, order: Order, reason: str) -> Observation:
        """
        Spend the handle first: only then is it certain that no earlier launch of it, still in flight, runs it.
        """
        root = self._opened()
        try:
            spent = isinstance(await asyncio.to_thread(void, root, order.handle, digest(order)), Voided)
        except (OSError, RootUnusable) as error:
            raise Unavailable(f"{self._name}: {error}", code="engine_unreachable") from error
        look = observe(root, order.handle)
        if not spent and not (isinstance(look, Absent) and look.final):
            return (await self.look([order.handle]))[order.handle]
        failure = Failure.of(FailureClass.SUBMISSION_REFUSED, "preflight", reason, free=True, suggestion=reason)
        return o.Refused(at=self._context.clock.now(), by=f"{self._name}.preflight", failure=failure)

    def _observation(self, root: Root, handle: str, look: Look) -> Observation:
        seen = super()._observation(root, handle, look)
        if not isinstance(seen, o.Ended) or all(found.ending is Ending.SUCCEEDED for found in seen.findings):
            return seen
        folder = root.run_directory(handle)
        output = translate.Output(_tail(folder / "stdout"), _tail(folder / "stderr"))
        return translate.sharpen(seen, output, rules.RULES)


def spark_command(order: Order, run_directory: Path, base: Mapping[str, str]) -> Command:
    """
    The command of one Spark application.
    """
    parsed = program.parse(order.spec)
    assert isinstance(parsed, program.Program)
    return client.command(order, parsed, client.find(parsed, base), run_directory=run_directory, base=base)


def _missing(order: Order) -> str | None:
    parsed = program.parse(order.spec)
    assert isinstance(parsed, program.Program)
    made = client.command(order, parsed, client.find(parsed, os.environ), run_directory=Path("/"), base=os.environ)
    return client.missing(parsed, made)


def _tail(path: Path) -> str:
    """
    The end of a stream; one that cannot be read says nothing.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL_BYTES))
            return file.read().decode(errors="replace")
    except OSError:
        return ""
