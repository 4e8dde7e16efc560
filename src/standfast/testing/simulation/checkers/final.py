"""
Final phases absorb: after its end a job's outcome, attempts and end time never change.
"""

from __future__ import annotations

from standfast.core.job.machine import Step
from standfast.core.job.state import Job
from standfast.testing.simulation.stage import Stage


class Final:
    """
    What is over is over; and what is not, has no outcome.
    """

    def committed(self, stage: Stage, step: Step, stored: Job | None, after: Job) -> None:
        """
        Compare with what was stored, whatever the step believed was stored.
        """
        if stored is not None and stored.phase.final:
            same = (stored.phase, stored.outcome, stored.attempts, stored.finished_at) == (
                after.phase,
                after.outcome,
                after.attempts,
                after.finished_at,
            )
            stage.demand(same, f"{after.uid[-4:]} was {stored.phase} for good, and became {after.phase}")
        stage.demand((after.outcome is not None) == after.phase.final, f"{after.uid[-4:]}: outcome without an end")

    def ended(self, stage: Stage) -> None:
        """
        Nothing is left to check.
        """
