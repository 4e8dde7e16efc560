"""
Answers on their way out: those of one turn of the event loop are written together at its end.

Belongs here: what is written when. Not here: what (`whole`). Each write may wake the reader on another core, and costs
then several times what it does while the reader is awake. A commit ends many requests in one turn: written one by one,
between the rest of the work on each, every answer woke the same load maker again. See
docs/internals/decisions/0016-answers-in-one-write.md.
"""

from __future__ import annotations

import asyncio
import time
from weakref import WeakKeyDictionary

HELD_S = 0.001
"""About the longest that an answer is held back for others."""


class Outbox:
    """
    The answers of one event loop. An answer is written before anything that its connection is given later.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[asyncio.Transport, bytes, bool]] = []
        self._since = 0.0

    def put(self, transport: asyncio.Transport, answer: bytes, *, last: bool) -> None:
        """
        Write the answer soon; last: and close its connection then.
        """
        now = time.perf_counter()
        if not self._waiting:
            # Runs after all that is ready now, and before whatever this answer lets begin.
            asyncio.get_running_loop().call_soon(self.flush)
            self._since = now
        self._waiting.append((transport, answer, last))
        if now - self._since > HELD_S:
            self.flush()

    def flush(self) -> None:
        """
        Write what waits.
        """
        waiting, self._waiting = self._waiting, []
        for transport, answer, last in waiting:
            if transport.is_closing():
                continue
            transport.write(answer)
            if last:
                transport.close()


_outboxes: WeakKeyDictionary[asyncio.AbstractEventLoop, Outbox] = WeakKeyDictionary()


def outbox_of(loop: asyncio.AbstractEventLoop) -> Outbox:
    """
    The one of that loop.
    """
    return _outboxes.setdefault(loop, Outbox())
