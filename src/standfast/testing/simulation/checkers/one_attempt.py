"""
No two attempts of one job are alive at once, unless its policy allows that.
"""

from __future__ import annotations

from standfast.core.job.machine import Step
from standfast.core.job.state import Job
from standfast.testing.simulation.stage import Stage


class OneAttempt:
    """
    The next attempt begins after the last of the one before is gone.
    """

    def committed(self, stage: Stage, step: Step, stored: Job | None, after: Job) -> None:
        """
        Nothing: what counts is what ran.
        """

    def ended(self, stage: Stage) -> None:
        """
        Compare the runs of each job, two by two.
        """
        runs = stage.engine.ledger
        for index, one in enumerate(runs):
            for other in runs[index + 1 :]:
                if one.order.uid != other.order.uid or one.handle == other.handle:
                    continue
                if one.order.spec.retry.unproven_gone or _forgotten_between(stage, one.life, other.life):
                    continue
                apart = one.gone_at <= other.started_at or other.gone_at <= one.started_at
                stage.demand(apart, f"{one.handle} and {other.handle} were alive at once")


def _forgotten_between(stage: Stage, one: int, other: int) -> bool:
    """
    Whether the engine, between the two, forgot which handles it must refuse; what was under way may then start late.
    """
    return one != other
