"""
Named places where a test may kill this process, and nothing at all when no test asked for it.

Belongs here: the points before and after every commit and every engine call. The runtime itself carries no test code;
the wiring puts this hook around the ports only if `STANDFAST_FAILPOINT` is set.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

VARIABLE = "STANDFAST_FAILPOINT"
"""`name` or `name#n`: SIGKILL this process when the point is passed for the n-th time (first: 1)."""

TRACE_VARIABLE = "STANDFAST_FAILPOINT_TRACE"
"""A file that every point passed is noted in, one name a line, so that a test can list them all."""

ENGINE_CALLS = frozenset({"launch", "look", "halt", "remove"})
STORE_CALLS = frozenset({"commit", "remove"})


class Failpoints:
    """
    Counts the points passed, and kills the process at the one that was asked for.
    """

    def __init__(self, wanted: str = "", trace: str | None = None) -> None:
        self._name, _, count = wanted.partition("#")
        self._left = int(count or 1)
        self._trace = Path(trace) if trace else None

    @classmethod
    def from_environment(cls) -> Failpoints | None:
        """
        The points asked for by the environment; None if none are.
        """
        wanted, trace = os.environ.get(VARIABLE), os.environ.get(TRACE_VARIABLE)
        return cls(wanted or "", trace) if wanted or trace else None

    def hit(self, name: str) -> None:
        """
        Pass a point.
        """
        if self._trace is not None:
            with self._trace.open("a") as trace:
                trace.write(name + "\n")
        if name == self._name:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def before(self, call: str, args: tuple[Any, ...]) -> object:
        """
        Pass `CALL.before`, for commits one point per kind of event.
        """
        for point in _points(call, args):
            self.hit(f"{point}.before")
        return None

    def after(self, call: str, token: object, args: tuple[Any, ...], answer: Any, error: BaseException | None) -> None:
        """
        Pass `CALL.after`, for commits one point per kind of event.
        """
        for point in _points(call, args):
            self.hit(f"{point}.after")


def _points(call: str, args: tuple[Any, ...]) -> list[str]:
    if call == "commit":
        return sorted({f"commit.{type(event).__name__}" for taken in args[0] for event in taken.events})
    return [call]
