"""
The runtime's own log during a story: kept in the trace, and read for what only a bug can cause.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

import structlog

from standfast.testing.simulation.stage import Stage

BUGS = frozenset({"illegal_transition", "loop_task_died", "lane_task_failed", "engine_call_failed"})
"""What the runtime logs when it meets something that must never happen."""


@contextmanager
def listening(stage: Stage) -> Iterator[None]:
    """
    Read the log instead of printing it, for as long as the block lasts.
    """

    def heard(logger: Any, method: str, entry: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        event = str(entry.pop("event", ""))
        told = ", ".join(f"{key}={value!r}" for key, value in entry.items())
        if method not in ("info", "debug"):
            stage.note(f"log {event}: {told}")
        stage.demand(event not in BUGS, f"the runtime met a bug: {event}: {told}")
        raise structlog.DropEvent

    before = structlog.get_config()
    structlog.configure(processors=[heard], wrapper_class=structlog.BoundLogger, cache_logger_on_first_use=False)
    try:
        yield
    finally:
        structlog.configure(**before)
