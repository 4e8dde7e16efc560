"""
The stored events tell the job's whole life: one per revision, in order, and folded again they make the same job.
"""

from __future__ import annotations

from standfast.core.errors import IllegalTransition
from standfast.core.job.machine import Step, evolve
from standfast.core.job.state import Job
from standfast.testing.simulation.stage import Stage


class History:
    """
    The audit trail is complete and true.
    """

    def __init__(self) -> None:
        self._steps: dict[str, list[Step]] = {}

    def committed(self, stage: Stage, step: Step, stored: Job | None, after: Job) -> None:
        """
        Keep the step.
        """
        if step.events:
            self._steps.setdefault(after.uid, []).append(step)

    def ended(self, stage: Stage) -> None:
        """
        Fold every history anew.
        """
        for uid, steps in self._steps.items():
            try:
                job = _folded(steps)
            except IllegalTransition as error:
                stage.demand(False, f"the events of {uid[-4:]} do not follow one another: {error}")
                continue
            kept = stage.jobs[uid]
            same = (job.revision, job.phase, job.attempts, job.outcome) == (
                kept.revision,
                kept.phase,
                kept.attempts,
                kept.outcome,
            )
            stage.demand(same, f"the events of {uid[-4:]} do not make its record")


def _folded(steps: list[Step]) -> Job:
    job: Job | None = None
    for step in steps:
        for event in step.events:
            job = evolve(job, event, step.at)
    assert job is not None
    return job
