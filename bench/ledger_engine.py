"""
An engine whose runs outlive the control plane: a file of what was started, appended to before a launch is answered.

Belongs here: that engine, and the reading of its file. It is the fake engine with a memory: the file survives kill -9
(not power loss), and it is the benchmark's witness of what really started, when, and how often anybody asked.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from standfast.core.job.evidence import Ending, Finding, Rank, Verdict
from standfast.core.job.observation import Absent, Ended, Observation, Present
from standfast.engines.fake import FakeEngine
from standfast.ports.engine import Capability, EngineContext, Hint, Order

LEDGER = "engines/ledger/ledger"
"""Below the state folder. Lines: `start NS HANDLE`, `end NS HANDLE`, `asked NS COUNT`; NS of the monotonic clock."""

WELL = Finding(rank=Rank.EXIT_STATUS, ending=Ending.SUCCEEDED, source="ledger.exit_status")


class LedgerEngine:
    """
    Runs last until the file says that they ended; of a handle in the file a second launch starts nothing.
    """

    name = "ledger"
    capabilities = frozenset({Capability.LISTS, Capability.REFUSES_TWICE, Capability.PROVES_GONE})

    def __init__(self, context: EngineContext) -> None:
        self._clock = context.clock
        self._path = context.folder / "ledger"
        self._others = FakeEngine(context.clock, name="ledger")
        self._alive: dict[str, bool] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._others, name)

    async def open(self, hint: Hint) -> None:
        """
        Read what runs, as a cluster that was up all the time would know it.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self._path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        for kind, _, handle in entries(self._path):
            if kind != "asked":
                self._alive[handle] = kind == "start"

    async def incarnation(self) -> str:
        """
        One life for good.
        """
        return "ledger-1"

    async def launch(self, order: Order) -> Observation:
        """
        Write it down, then answer.
        """
        self._note("start", order.handle)
        self._alive.setdefault(order.handle, True)
        return self._observe(order.handle)

    async def look(self, handles: Sequence[str]) -> Mapping[str, Observation]:
        """
        All of them in one answer.
        """
        seen = {handle: self._observe(handle) for handle in handles}
        self._note("asked", str(len(seen)))
        return seen

    async def handles(self) -> Sequence[str]:
        """
        Everything in the file.
        """
        return list(self._alive)

    def _note(self, kind: str, what: str) -> None:
        os.write(self._file, f"{kind} {time.monotonic_ns()} {what}\n".encode())

    def _observe(self, handle: str) -> Observation:
        now = self._clock.now()
        seen = {"at": now, "by": "ledger.look", "incarnation": "ledger-1"}
        alive = self._alive.get(handle)
        if alive is None:
            return Absent(**seen, proven=True)
        began = now - timedelta(seconds=1)
        if alive:
            return Present(**seen, engine_status="RUNNING")
        return Ended(**seen, findings=(WELL,), gone=Verdict.PROVEN, gone_source="ledger", ended_at=began)


def build(context: EngineContext) -> LedgerEngine:
    """
    For the entry-point group `standfast.engines`.
    """
    return LedgerEngine(context)


def entries(path: Path) -> list[tuple[str, int, str]]:
    """
    The lines of a ledger: (kind, nanoseconds, handle or count).
    """
    if not path.exists():
        return []
    parted = (line.split() for line in path.read_text().splitlines())
    return [(kind, int(ns), what) for kind, ns, what in parted]


def plugged(folder: Path) -> Path:
    """
    A folder for PYTHONPATH that plugs this engine in as a third party's package would.
    """
    info = folder / "plugins" / "standfast_ledger-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: standfast-ledger\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[standfast.engines]\nledger = ledger_engine:build\n")
    return info.parent
