"""
One request id makes one job, however often and by however many it is sent.
"""

from __future__ import annotations

from standfast.core.job.machine import Step
from standfast.core.job.state import Job
from standfast.testing.simulation.stage import Stage


class OneJob:
    """
    No request id is the request id of two jobs.
    """

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], str] = {}

    def committed(self, stage: Stage, step: Step, stored: Job | None, after: Job) -> None:
        """
        The first job of a request id is the only one.
        """
        first = self._made.setdefault((after.namespace, after.request_id), after.uid)
        stage.demand(first == after.uid, f"{after.request_id} made {first} and {after.uid}")

    def ended(self, stage: Stage) -> None:
        """
        Nothing is left to check.
        """
