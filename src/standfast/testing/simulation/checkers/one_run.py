"""
User code starts at most once per handle, for as long as the engine remembers the handle.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from standfast.core.job import events as e
from standfast.core.job.machine import Step
from standfast.core.job.state import Job
from standfast.testing.simulation.stage import Stage

LATE_S = 60.0
"""A decision this soon after the engine's restart may rest on an answer from before it."""


class OneRun:
    """
    Two starts of one handle are only ever the fault of an engine that forgot it between two sends.
    """

    def __init__(self) -> None:
        self._sent: dict[str, list[datetime]] = {}

    def committed(self, stage: Stage, step: Step, stored: Job | None, after: Job) -> None:
        """
        Note when it was decided to send.
        """
        if any(isinstance(event, e.LaunchBegun | e.LaunchRepeated) for event in step.events):
            by_a_person = any(isinstance(event, e.Resolved) for event in step.events)
            if not by_a_person:
                self._sent.setdefault(after.attempt.handle, []).append(stage.clock.now())

    def ended(self, stage: Stage) -> None:
        """
        Count the starts.
        """
        stage.engine.alive()
        seen: dict[str, int] = {}
        for run in stage.engine.ledger:
            earlier = seen.get(run.handle)
            seen[run.handle] = run.life
            if earlier is None:
                continue
            stage.demand(earlier != run.life, f"{run.handle} started twice in one life of the engine")
            born = stage.engine.born[run.life - 1]
            knowing = [at for at in self._sent.get(run.handle, ()) if at > born + timedelta(seconds=LATE_S)]
            stage.demand(not knowing, f"{run.handle} was sent again to an engine that had forgotten it")
