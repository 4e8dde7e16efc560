"""
Whatever a caller was told is accepted is there, and stays.
"""

from __future__ import annotations

from standfast.core.job.machine import Step
from standfast.core.job.state import Job
from standfast.testing.simulation.stage import Stage


class Acknowledged:
    """
    Nothing that was acknowledged is lost.
    """

    def committed(self, stage: Stage, step: Step, stored: Job | None, after: Job) -> None:
        """
        Nothing: what counts is what is there in the end.
        """

    def ended(self, stage: Stage) -> None:
        """
        Look for each of them.
        """
        for request_id, uid in stage.acknowledged.items():
            job = stage.jobs.get(uid)
            stage.demand(job is not None and job.request_id == request_id, f"{request_id} was accepted, then lost")
