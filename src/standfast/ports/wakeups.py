"""
The wakeups port: hints that something changed, so that nobody has to poll.

A hint may be lost, doubled or early; whoever waits also gives a time, and reads the level afterwards.
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Wakeups(Protocol):
    """
    Named hints with any number of waiters.
    """

    def hint(self, topic: str) -> None:
        """
        Wake everyone waiting for `topic` now, or the next one who waits with an older `seen`.
        """
        ...

    def seen(self, topic: str) -> int:
        """
        How many hints `topic` had; take it before reading the level, pass it to `wait`.
        """
        ...

    async def wait(self, topic: str, *, seen: int, until: datetime | None) -> None:
        """
        Return once `topic` had more hints than `seen`, or at `until`, whichever is first; None: no time limit.
        """
        ...
