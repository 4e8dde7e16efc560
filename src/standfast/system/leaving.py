"""
SIGTERM and Ctrl-C: one meaning for the whole life of a task, from its first step to its last.

Belongs here: who hears the two signals and what the task sees of them. Not here: what is closed, and in which order.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

NUMBERS = (signal.SIGTERM, signal.SIGINT)


class Leaving:
    """
    Around what a task does until it is told to go: the block is unwound, never cut off, so that everything is closed.

    Until `drain` is set the first signal cancels the task, and the block ends as if it were done. From then on each
    goes to `drain` with its number, also after the block: the process keeps it so to its end, as a default action in
    between would kill it with its files open.
    """

    def __init__(self) -> None:
        self.drain: Callable[[int], None] | None = None
        self._task: asyncio.Task[object] | None = None
        self._told = False

    def __enter__(self) -> Leaving:
        self._task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        for number in NUMBERS:
            loop.add_signal_handler(number, self._tell, number)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if kind is asyncio.CancelledError and self._told and self._task is not None:
            self._task.uncancel()
            return True
        return False

    def _tell(self, number: int) -> None:
        if self.drain is not None:
            self.drain(number)
        elif not self._told and self._task is not None:
            self._task.cancel()
        self._told = True
