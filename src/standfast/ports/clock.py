"""
The clock port: the only source of time.
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """
    Aware UTC time that never goes back and never jumps while the process lives, and a way to let it pass.
    """

    def now(self) -> datetime:
        """
        The time, never earlier than an earlier answer; a step of the machine's clock does not show in it.
        """
        ...

    async def sleep(self, seconds: float) -> None:
        """
        Return after `seconds` of this clock's time, at once if not positive.
        """
        ...
