"""
The engine port: something that runs attempts, known by handle.

What an engine must promise, and the contract suite checks: the same handle sent twice runs at most once for as long as
the engine remembers it (`quiet_s` of `Absent` says when absence may be trusted); no answer ever means failure; only a
look confirms an end; `halt` may be repeated without harm.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

import msgspec

from standfast.core.errors import FieldError, InvalidSpec
from standfast.core.job.inputs import Remainder
from standfast.core.job.observation import Observation
from standfast.core.job.spec import Resources, Spec
from standfast.ports.clock import Clock
from standfast.ports.ids import Ids


class Capability(StrEnum):
    """
    What an engine can do beyond the minimum; declared, so that tests and callers skip by it.

    HINTS: tells of changes by itself. LISTS: can name every handle it knows. REFUSES_TWICE: refuses a handle it knows,
    so sending again needs no look. RECEIPTS: attempts can leave one. EXIT_STATUS: knows exit codes. PROVES_GONE: can
    prove that nothing of an attempt is alive. LOGS: keeps output.
    """

    HINTS = "hints"
    LISTS = "lists"
    REFUSES_TWICE = "refuses_twice"
    RECEIPTS = "receipts"
    EXIT_STATUS = "exit_status"
    PROVES_GONE = "proves_gone"
    LOGS = "logs"


class Order(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """
    One attempt to launch; the same handle always comes with the same order, byte for byte, whoever sends it.
    """

    handle: str
    uid: str
    namespace: str
    name: str
    attempt: int
    spec: Spec
    resources: Resources


class Chunk(msgspec.Struct, frozen=True):
    """
    Output from `offset` on. next_offset: where to go on. size: bytes known so far. ended: no more will come.
    """

    data: bytes
    offset: int
    next_offset: int
    size: int
    ended: bool


Hint = Callable[[str], None]


@dataclass(frozen=True)
class EngineContext:
    """
    What an engine may build on: its folder (its own, durable, local), the small ports, and its own settings.

    launches: calls to launch that will be under way at once. options: by name, the engine checks them.
    """

    folder: Path
    clock: Clock
    ids: Ids
    launches: int = 8
    options: Mapping[str, Any] = field(default_factory=dict)

    def refuse_options(self, engine: str) -> None:
        """
        For engines that have none.

        Raises:
            InvalidSpec: Some were given, and would have been ignored.
        """
        if self.options:
            named = ", ".join(sorted(self.options))
            raise InvalidSpec([FieldError(f"/engine_options/{engine}", "unknown_option", f"it has none, not {named}")])


Build = Callable[[EngineContext], "Engine"]
"""What the entry-point group `standfast.engines` names; must neither block nor touch the world before `open`."""


class Engine(Protocol):
    """
    One kind of place where attempts run.
    """

    @property
    def name(self) -> str:
        """
        The name that specs use.
        """
        ...

    @property
    def capabilities(self) -> frozenset[Capability]:
        """
        What it can do beyond the minimum, the same for its whole life.
        """
        ...

    async def open(self, hint: Hint) -> None:
        """
        Get ready; `hint(handle)` may then be called on the loop whenever something about a handle may have changed.
        """
        ...

    def check(self, spec: Spec) -> list[FieldError]:
        """
        Everything wrong with `spec.program` for this engine, each with its pointer; pure, asks nobody.
        """
        ...

    def call(self, order: Order) -> Mapping[str, Any]:
        """
        The exact call that `launch` would make, as plain JSON, secrets masked; pure, sends nothing.
        """
        ...

    async def incarnation(self) -> str:
        """
        The name of the engine's present life: it changes whenever the engine may have forgotten handles.

        Raises:
            Unavailable: It does not answer.
        """
        ...

    async def launch(self, order: Order) -> Observation:
        """
        Start the attempt. `Refused` and `Present`/`Ended` are certain; `Unreachable` means: perhaps started.
        """
        ...

    async def look(self, handles: Sequence[str]) -> Mapping[str, Observation]:
        """
        What is the case with each handle, all in as few calls as the engine allows; an answer for every handle.
        """
        ...

    async def halt(self, handle: str, *, grace_s: float) -> None:
        """
        Ask that nothing of the attempt be alive within `grace_s` seconds, and that the handle never start from now on.

        Repeating it never restarts the grace. Raises nothing for an attempt that is gone.

        Raises:
            Unavailable: The request may not have arrived.
        """
        ...

    async def handles(self) -> Sequence[str]:
        """
        Every handle it knows, alive or ended; empty without capability LISTS.
        """
        ...

    async def read(self, handle: str, *, stream: str, offset: int, limit: int) -> Chunk:
        """
        At most `limit` bytes of `stdout` or `stderr` from `offset` on; a negative offset counts from the end.

        Raises:
            NotFound: There is none yet. Gone: It was removed. Unavailable: No answer.
        """
        ...

    async def remove(self, handle: str, what: Remainder) -> None:
        """
        Remove that remainder of an ended attempt; fine if it is gone already. RECORD: forget the handle altogether.
        """
        ...

    async def close(self) -> None:
        """
        Let go; nothing that runs is touched.
        """
        ...
