"""
Group commit: whatever piled up while the last COMMIT was out is the next batch, and one flush makes it durable.

Statements run on the event loop. COMMIT, which waits for the disk, runs in a thread, unless the disk has been quick:
then going to a thread and back takes longer than the flush, and the loop does it itself. Source of the shape: measured
on this store's tables. A lingering timer cost up to 8 times the rate, a wake-up per caller a third of it, and a thread
that runs the statements too starves while the loop is busy.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from queue import SimpleQueue
from typing import Any, TypeVar

import apsw

from standfast.core.errors import Unavailable
from standfast.stores.sqlite.errors import told
from standfast.stores.sqlite.ledger import Ledger

T = TypeVar("T")

BATCH_MAX = 512
"""Steps per batch; a single caller's may be more. Beyond about 128 nothing more is won, and the loop is held longer."""

LATE_S, LOOK_S = 0.002, 0.001
"""A COMMIT out for longer than the first is waited for by the loop itself, for the second, once per turn."""

QUICK_S, WARY = 0.001, 16
"""A COMMIT on the loop that took longer than the first sends the next few, the second, through the thread."""

BUSY_S, BUSY_TRIES = 0.02, 250
"""Wait between two tries to begin while another program has the file locked, and how many there are: 5 s in all."""


@dataclass(eq=False)
class _Work:
    """
    What one caller wants written. alone: its batch failed before the COMMIT, so it is tried without the others.
    """

    write: Callable[[], Any]
    weight: int
    future: asyncio.Future[Any]
    answer: Any = None
    alone: bool = False


@dataclass(eq=False)
class _Batch:
    """
    What shares one flush. done: the COMMIT returned, well or not.
    """

    works: list[_Work]
    done: threading.Event = field(default_factory=threading.Event)
    error: Exception | None = None


class Committer:
    """
    The only one who opens and ends transactions on the writer's connection.

    failpoint: called with `commit.before` and `commit.after` around COMMIT; for tests that kill.
    """

    def __init__(
        self,
        db: apsw.Connection,
        ledger: Ledger,
        now: Callable[[], datetime],
        failpoint: Callable[[str], None],
    ) -> None:
        self._db = db
        self._ledger = ledger
        self._now = now
        self._failpoint = failpoint
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Work] = deque()
        self._busy = False
        self._tries = 0
        self._wary = WARY
        self._out: _Batch | None = None
        self._guard: asyncio.TimerHandle | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._inbox: SimpleQueue[_Batch | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._commit_in_thread, name="standfast-commit", daemon=True)
        self._thread.start()

    def submit(self, write: Callable[[], T], *, weight: int = 1) -> asyncio.Future[T]:
        """
        Let `write` run inside the next transaction; the future has its answer once that is durable.

        A caller that goes away takes nothing along: what its batch has begun is written all the same.

        Raises (through the future):
            Unavailable: Nothing of it is durable. IllegalTransition: It broke a constraint; nothing of it is written.
        """
        future: asyncio.Future[T] = self._loop.create_future()
        self._waiting.append(_Work(write, weight, future))
        if not self._busy:
            # One tick later, so that every caller of this turn of the loop is in.
            self._go_on()
        return future

    async def close(self) -> None:
        """
        Return once everything submitted is settled and the thread has ended.
        """
        await self._idle.wait()
        self._inbox.put(None)
        self._thread.join()

    # --- on the loop -------------------------------------------------------------------------------------------------

    def _go_on(self) -> None:
        self._busy = bool(self._waiting)
        if self._busy:
            self._idle.clear()
            self._loop.call_soon(self._begin)
        else:
            self._idle.set()

    def _begin(self) -> None:
        """
        Open a transaction, let every work of the batch write, and send the COMMIT out.
        """
        batch = _Batch(self._take())
        if not batch.works:
            self._go_on()
            return
        try:
            self._db.execute("BEGIN IMMEDIATE")
        except apsw.BusyError as error:
            self._tries += 1
            if self._tries >= BUSY_TRIES:
                self._settle(batch, error)
            else:
                self._waiting.extendleft(reversed(batch.works))
                self._loop.call_later(BUSY_S, self._begin)
            return
        except apsw.Error as error:
            self._settle(batch, error)
            return
        self._tries = 0
        try:
            for work in batch.works:
                work.answer = work.write()
            wrote = self._ledger.seal(self._now())
        except Exception as error:  # noqa: BLE001 - whatever one caller's writing raised must not reach the others
            self._roll_back()
            if len(batch.works) == 1:
                self._settle(batch, error)
                return
            self._ledger.drop()
            for work in batch.works:
                work.alone = True
            self._waiting.extendleft(reversed(batch.works))
            self._go_on()
            return
        if not wrote:
            # Nothing to flush: ends on the spot.
            self._roll_back()
            self._settle(batch, None)
            return
        self._out = batch
        if self._wary:
            self._wary -= 1
            self._inbox.put(batch)
            self._guard = self._loop.call_later(LATE_S, self._wait_for, batch)
            return
        began = time.perf_counter()
        self._commit(batch)
        if time.perf_counter() - began > QUICK_S:
            self._wary = WARY
        self._returned(batch)

    def _take(self) -> list[_Work]:
        """
        The works of the next batch; callers that went away before it are left out, and nothing of theirs is written.
        """
        works: list[_Work] = []
        weight = 0
        while self._waiting:
            work = self._waiting[0]
            if not work.future.done():
                if works and (weight + work.weight > BATCH_MAX or work.alone or works[0].alone):
                    break
                works.append(work)
                weight += work.weight
            self._waiting.popleft()
        return works

    def _wait_for(self, batch: _Batch) -> None:
        """
        The guard against starvation: a loop that never sleeps never really lets go of the interpreter's lock, and the
        thread that holds our batch waits for it in vain. Blocking here, shortly, lets go.
        """
        if self._out is not batch:
            return
        if batch.done.wait(LOOK_S):
            self._returned(batch)
        else:
            self._guard = self._loop.call_later(0, self._wait_for, batch)

    def _returned(self, batch: _Batch) -> None:
        """
        The COMMIT came back; told by the thread or found by the guard, whichever is first.
        """
        if self._out is not batch:
            return
        self._out = None
        if self._guard is not None:
            self._guard.cancel()
            self._guard = None
        self._settle(batch, batch.error)

    def _settle(self, batch: _Batch, error: Exception | None) -> None:
        self._tries = 0
        if error is None:
            self._ledger.keep()
        else:
            self._ledger.drop()
        for work in batch.works:
            if work.future.done():
                continue
            if error is None:
                work.future.set_result(work.answer)
            else:
                work.future.set_exception(_copy(error))
        self._go_on()

    # --- in the thread, or on the loop ------------------------------------------------------------------------------

    def _commit_in_thread(self) -> None:
        while (batch := self._inbox.get()) is not None:
            self._commit(batch)
            batch.done.set()
            try:
                self._loop.call_soon_threadsafe(self._returned, batch)
            except RuntimeError:
                # The loop is closed: nobody waits for an answer any more.
                return

    def _commit(self, batch: _Batch) -> None:
        try:
            self._failpoint("commit.before")
            self._db.execute("COMMIT")
            self._failpoint("commit.after")
        except Exception as error:  # noqa: BLE001 - told to every caller of the batch
            batch.error = error
            self._roll_back()

    def _roll_back(self) -> None:
        # SQLite has rolled back by itself after some errors. Source: "Response To Errors Within A Transaction",
        # sqlite.org/lang_transaction.html.
        if not self._db.getautocommit():
            # It may meet the same failing disk; the transaction is over all the same.
            with suppress(apsw.Error):
                self._db.execute("ROLLBACK")


def _copy(error: Exception) -> Exception:
    """
    The error for one of several callers; each gets its own, because each adds its own traceback.
    """
    given = told(error)
    if given is error:
        return error
    if isinstance(given, Unavailable):
        own: Exception = Unavailable(given.message, code=given.code, hint=given.hint, retry_after_s=given.retry_after_s)
    else:
        own = type(given)(*given.args)
    own.__cause__ = error
    return own
