"""
How long answers may take, watched over with one timer: a timer for each would cost more than most requests do.

Belongs here: who is under way, and the end of those that take too long. Not here: what is answered then (`door`).
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

Task = asyncio.Task[Any]


class Patience:
    """
    Cancels each task that is still under way `seconds` after it began.
    """

    def __init__(self) -> None:
        # In the order of their ends, because all of one control plane may take equally long.
        self._ends: dict[Task, float] = {}
        self._late: set[Task] = set()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, now: float, seconds: float) -> Task:
        """
        Watch over the running task, to be handed to `end`. now: by `time.perf_counter`.
        """
        task = asyncio.current_task()
        assert task is not None
        self._ends[task] = now + seconds
        if self._timer is None:
            self._timer = task.get_loop().call_later(seconds, self._look)
        return task

    def end(self, task: Task) -> bool:
        """
        Watch no more; whether the task took too long, and was cancelled for nothing else.
        """
        self._ends.pop(task, None)
        if task in self._late:
            self._late.remove(task)
            return task.uncancel() == 0
        return False

    def _look(self) -> None:
        self._timer = None
        now = time.perf_counter()
        for task, end in list(self._ends.items()):
            if end > now:
                self._timer = asyncio.get_running_loop().call_later(end - now, self._look)
                return
            del self._ends[task]
            self._late.add(task)
            task.cancel()
