"""
The verdict is what happened: success only of what succeeded, and never anything else of what had.
"""

from __future__ import annotations

from standfast.core.job.evidence import Ending
from standfast.core.job.machine import Step
from standfast.core.job.state import Job, Outcome
from standfast.engines.fake.runs import Run
from standfast.testing.simulation.stage import Stage


class TrueOutcome:
    """
    Whatever the engine lost, forgot, or said too late.
    """

    def committed(self, stage: Stage, step: Step, stored: Job | None, after: Job) -> None:
        """
        Nothing: what counts is the verdict.
        """

    def ended(self, stage: Stage) -> None:
        """
        Compare every verdict with the engine's ledger.
        """
        runs: dict[str, list[Run]] = {}
        for run in stage.engine.ledger:
            runs.setdefault(run.handle, []).append(run)
        for job in stage.jobs.values():
            if not job.attempts:
                continue
            good = any(_succeeded(run) for run in runs.get(job.attempt.handle, ()))
            if job.outcome is Outcome.SUCCEEDED:
                stage.demand(good, f"{job.uid[-4:]} is succeeded, and {job.attempt.handle} was not")
            elif good and not _untold(job):
                stage.demand(False, f"{job.uid[-4:]} is {job.outcome}, and {job.attempt.handle} succeeded")


def _untold(job: Job) -> bool:
    """
    Whether the engine has nothing left that could tell of a success.
    """
    return "vanishes_s" in job.spec.program or job.spec.program.get("reports") == {}


def _succeeded(run: Run) -> bool:
    return run.ending is Ending.SUCCEEDED and not run.stopped
