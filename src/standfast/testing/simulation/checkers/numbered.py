"""
Attempts are numbered without a gap, named by their handles, and closed ones never change by a byte.
"""

from __future__ import annotations

import msgspec

from standfast.core.job.attempt import handle_of
from standfast.core.job.machine import Step
from standfast.core.job.state import Job
from standfast.testing.simulation.stage import Stage


class Numbered:
    """
    History only grows.
    """

    def committed(self, stage: Stage, step: Step, stored: Job | None, after: Job) -> None:
        """
        Compare with what was stored.
        """
        numbers = [attempt.number for attempt in after.attempts]
        stage.demand(numbers == list(range(1, len(numbers) + 1)), f"{after.uid[-4:]} has attempts {numbers}")
        named = all(attempt.handle == handle_of(after.uid, attempt.number) for attempt in after.attempts)
        stage.demand(named, f"{after.uid[-4:]} has a handle that is not its own")
        if stored is None:
            return
        stage.demand(len(after.attempts) >= len(stored.attempts), f"{after.uid[-4:]} lost an attempt")
        for old, new in zip(stored.attempts, after.attempts, strict=False):
            if old.closed_at is not None:
                same = msgspec.json.encode(old) == msgspec.json.encode(new)
                stage.demand(same, f"closed attempt {old.handle} changed")

    def ended(self, stage: Stage) -> None:
        """
        Nothing is left to check.
        """
