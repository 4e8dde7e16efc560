"""
What a caller waits for, and whether it can still come: pure, from the table of arrows.

Belongs here: goals and their three answers. Not here: asking the control plane (`sync`, `aio`).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from standfast.core.job.state import FINAL, Phase
from standfast.core.job.table import TRANSITIONS

DONE = "done"
"""The goal of any final phase."""


class Prospect(Enum):
    """
    Where a goal stands.
    """

    REACHED = "reached"
    OPEN = "open"
    IMPOSSIBLE = "impossible"


def phases_of(goal: str) -> frozenset[str]:
    """
    The phases that fulfil the goal: `done`, or a phase by name.

    Raises:
        ValueError: There is no such phase.
    """
    if goal == DONE:
        return frozenset(FINAL)
    if goal not in list(Phase):
        raise ValueError(f"{goal!r} is neither {DONE} nor a phase; phases are: {', '.join(Phase)}")
    return frozenset({Phase(goal)})


def prospect(goal: str, phase: str) -> Prospect:
    """
    Whether a job in `phase` has reached the goal, may still reach it, or never will.

    A phase that this client does not know yet leaves every goal open.
    """
    wanted = phases_of(goal)
    if phase in wanted:
        return Prospect.REACHED
    if phase not in list(Phase):
        return Prospect.OPEN
    return Prospect.OPEN if wanted & _reachable(Phase(phase)) else Prospect.IMPOSSIBLE


def _reachable(start: Phase) -> set[Phase]:
    """
    Every phase that some chain of arrows leads to from `start`, itself included.
    """
    found, fresh = {start}, [start]
    while fresh:
        here = fresh.pop()
        following: Iterable[Phase] = (after for (before, _), after in TRANSITIONS.items() if before == here)
        for phase in following:
            if phase not in found:
                found.add(phase)
                fresh.append(phase)
    return found
