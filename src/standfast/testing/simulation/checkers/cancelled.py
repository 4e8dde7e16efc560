"""
An accepted cancel ends the job: nothing new begins, and `cancelled` means that nothing of it is alive.
"""

from __future__ import annotations

from standfast.core.job import events as e
from standfast.core.job.machine import Step
from standfast.core.job.state import Job, Phase
from standfast.testing.simulation.stage import Stage


def accepted(stage: Stage, uid: str, verb: str) -> None:
    """
    A caller was told that the command is accepted.
    """
    job = stage.jobs[uid]
    stop = job.attempt.stop if job.attempts else None
    cancelling = job.phase.final or (stop is not None and stop.cause == "cancel")
    stage.demand(verb != "cancel" or cancelling, f"{uid[-4:]}: a cancel was accepted and then dropped")


class Cancelled:
    """
    Cancel confirmed means gone.
    """

    def __init__(self) -> None:
        self._asked: set[str] = set()

    def committed(self, stage: Stage, step: Step, stored: Job | None, after: Job) -> None:
        """
        After a cancel no attempt begins; at its end nothing is alive.
        """
        for event in step.events:
            if isinstance(event, e.LaunchBegun | e.LaunchRepeated):
                stage.demand(after.uid not in self._asked, f"{after.uid[-4:]} was cancelled, and began anew")
            if isinstance(event, e.StopRequested) and event.cause == "cancel":
                self._asked.add(after.uid)
        if after.phase is Phase.CANCELLED and step.events:
            alive = [run.handle for run in stage.engine.alive() if run.order.uid == after.uid]
            stage.demand(not alive or after.spec.retry.unproven_gone, f"cancelled, but {alive} are alive")

    def ended(self, stage: Stage) -> None:
        """
        Nothing of a cancelled job started later, unless the engine forgot that it must refuse it.
        """
        if len(stage.engine.born) > 1:
            return
        for run in stage.engine.ledger:
            job = stage.jobs[run.order.uid]
            if job.phase is Phase.CANCELLED and job.finished_at is not None and not stage.mood.skew_s:
                stage.demand(run.started_at <= job.finished_at, f"{run.handle} started after its cancel was confirmed")
