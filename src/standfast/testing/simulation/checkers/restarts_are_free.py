"""
Nothing a control plane does to itself starts another attempt, spends a retry, or fails a job.
"""

from __future__ import annotations

from standfast.core.job.decisions import SENDS_MAX
from standfast.core.job.evidence import Ending
from standfast.core.job.machine import Step
from standfast.core.job.state import Job, Phase
from standfast.testing.simulation.stage import Stage


class RestartsAreFree:
    """
    Where nothing is wrong with the jobs and the engine kills nothing, every job succeeds in the one attempt that ran.
    """

    def committed(self, stage: Stage, step: Step, stored: Job | None, after: Job) -> None:
        """
        Nothing: what counts is how it came out.
        """

    def ended(self, stage: Stage) -> None:
        """
        Look at every job of an innocent story.
        """
        if not stage.mood.innocent or stage.mood.kills:
            return
        for job in stage.jobs.values():
            if any(attempt.sends >= SENDS_MAX for attempt in job.attempts):
                # The network lost every send, which is no doing of a control plane.
                continue
            stage.demand(job.phase is Phase.SUCCEEDED, f"{job.uid[-4:]} is {job.phase}, and nothing was wrong with it")
            ran = [a.number for a in job.attempts if a.ending is not Ending.NEVER_RAN]
            stage.demand(len(ran) == 1, f"{job.uid[-4:]} used attempts {ran}, and nothing was wrong with it")
