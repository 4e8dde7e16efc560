"""
What must hold in every story, one fact per file.

Belongs here: checkers. Each is told of every commit, and asked at the end; none knows why something happened.
"""

from __future__ import annotations

from collections.abc import Callable

from standfast.testing.simulation.checkers.acknowledged import Acknowledged
from standfast.testing.simulation.checkers.cancelled import Cancelled, accepted
from standfast.testing.simulation.checkers.final import Final
from standfast.testing.simulation.checkers.history import History
from standfast.testing.simulation.checkers.numbered import Numbered
from standfast.testing.simulation.checkers.one_attempt import OneAttempt
from standfast.testing.simulation.checkers.one_job import OneJob
from standfast.testing.simulation.checkers.one_run import OneRun
from standfast.testing.simulation.checkers.restarts_are_free import RestartsAreFree
from standfast.testing.simulation.checkers.true_outcome import TrueOutcome
from standfast.testing.simulation.stage import Checker

__all__ = ["ALL", "accepted"]

ALL: tuple[Callable[[], Checker], ...] = (
    OneRun,
    OneAttempt,
    Acknowledged,
    OneJob,
    Final,
    Cancelled,
    RestartsAreFree,
    Numbered,
    TrueOutcome,
    History,
)
