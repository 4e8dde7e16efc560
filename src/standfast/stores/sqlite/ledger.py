"""
The ledger: how steps become rows of one open transaction, and the counters that are kept along the way.

Belongs here: everything written to the file once it is open. Not here: when a transaction begins and ends
(`committer`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import apsw
import msgspec

from standfast.core.job.inputs import Outage
from standfast.core.job.machine import Step
from standfast.core.job.state import Job, Phase
from standfast.ports.store import Committed, Epoch, Lost, Slot, Taken
from standfast.stores.sqlite import queries, rows

Key = tuple[str, str, str, str]
"""namespace, engine, queue, phase."""

_FINAL = frozenset(phase.value for phase in Phase if phase.final)


@dataclass(slots=True)
class _Change:
    """
    A job that this transaction makes or moves. stored: as the file has it, None if it does not.
    """

    job_id: int
    stored: Job | None
    job: Job


class Ledger:
    """
    Writes on the writer's connection, inside a transaction that someone else opened.

    A job that moves more than once in one transaction is one row written; its events are all kept. What the ledger
    knows in memory (counters, newest numbers) is of the last transaction that was kept: `keep` and `drop` follow every
    COMMIT and ROLLBACK.
    """

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._execute = db.cursor().execute
        self._ids: dict[Key, int] = {}
        self._counts: dict[int, int] = {}
        for slot_id, *key, count in self._execute(queries.SLOTS):
            self._ids[tuple(key)] = slot_id
            self._counts[slot_id] = count
        progress: tuple[int, int] = self._execute(queries.PROGRESS).fetchone() or (0, 0)
        self.newest_seq, self._disorder_us = progress
        newest: tuple[int, int] = self._execute(queries.NEWEST_JOB).fetchone() or (0, 0)
        self._newest_id, self._latest_us = newest[0], newest[1] + self._disorder_us
        self._newest_uid: str = self._one(queries.NEWEST_UID) or ""
        self.fence = 0
        self.unfinished = sum(self._counts[slot_id] for key, slot_id in self._ids.items() if key[3] not in _FINAL)
        self.seen_at: datetime | None = None
        self._clear()

    def _clear(self) -> None:
        self._seq, self._id, self._uid = self.newest_seq, self._newest_id, self._newest_uid
        self._order = (self._disorder_us, self._latest_us)
        self._new_ids: dict[Key, int] = {}
        self._deltas: dict[int, int] = {}
        self._changes: dict[str, _Change] = {}
        self._requests: dict[tuple[str, str], str] = {}
        self._events: list[rows.Row] = []
        self._unfinished = 0
        self._new_fence = self.fence
        self._wrote = False
        self._see = False

    # --- around a transaction ----------------------------------------------------------------------------------------

    def seal(self, now: datetime) -> bool:
        """
        Write all that is not written yet; False, and nothing written, if the transaction changed nothing.
        """
        if not self._wrote:
            return False
        self._write_out()
        for slot_id, delta in self._deltas.items():
            if delta:
                self._execute(queries.COUNT_SLOT, (delta, slot_id))
        if self._see or self._order[0] != self._disorder_us:
            # Not in every transaction: a page saved, and the newest event is as good a sign of life.
            self._execute(queries.SEE_EPOCH, (rows.to_us(now), self._seq, self._order[0], self._new_fence))
        self._now = now
        return True

    def keep(self) -> None:
        """
        The transaction is durable.
        """
        if self._wrote:
            self.seen_at = self._now
        self.newest_seq, self._newest_id, self._newest_uid = self._seq, self._id, self._uid
        self.fence = self._new_fence
        self._disorder_us, self._latest_us = self._order
        self._ids.update(self._new_ids)
        for slot_id, delta in self._deltas.items():
            self._counts[slot_id] = self._counts.get(slot_id, 0) + delta
        self.unfinished += self._unfinished
        self._clear()

    def drop(self) -> None:
        """
        The transaction was rolled back.
        """
        self._clear()

    def slots(self) -> list[Slot]:
        """
        The counters that are not zero, in order of their names.
        """
        kept = ((key, self._counts.get(slot_id, 0)) for key, slot_id in self._ids.items())
        return [Slot(*key[:3], Phase(key[3]), count) for key, count in sorted(kept) if count]

    def jobs_in(self, namespace: str) -> int:
        """
        How many jobs the namespace has.
        """
        return sum(self._counts.get(slot_id, 0) for key, slot_id in self._ids.items() if key[0] == namespace)

    # --- inside a transaction ----------------------------------------------------------------------------------------

    def begin(self, now: datetime) -> Epoch:
        """
        Open a new epoch; the outages are those that reach past the creation of the oldest unfinished job.
        """
        epochs = list(self._execute(queries.EPOCHS))
        if epochs:
            # Events are signs of life too, which the last epoch did not write down apart.
            fence, begun_us, seen_us = epochs[-1]
            seen_us = max(seen_us, self._one(queries.NEWEST_EVENT_AT) or 0)
            self._execute(queries.SEE_EPOCH, (seen_us, self._seq, self._order[0], fence))
            epochs[-1] = (fence, begun_us, seen_us)
        self._new_fence = (epochs[-1][0] if epochs else 0) + 1
        now_us = rows.to_us(now)
        since_us = self._one(queries.OLDEST_UNFINISHED)
        since_us = now_us if since_us is None else since_us - self._disorder_us
        begins = [begun_us for _, begun_us, _ in epochs[1:]] + [now_us]
        outages = [
            Outage(rows.from_us(seen_us), rows.from_us(begun_us))
            for (_, _, seen_us), begun_us in zip(epochs, begins, strict=False)
            if seen_us < begun_us and begun_us >= since_us
        ]
        self._execute(queries.NEW_EPOCH, (self._new_fence, now_us, now_us, self._seq, self._disorder_us))
        self._wrote = True
        set_back_us = max(0, epochs[-1][2] - now_us) if epochs else 0
        return Epoch(self._new_fence, tuple(outages), set_back_us / 1e6)

    def beat(self) -> None:
        """
        A sign of life, and nothing else.
        """
        self._wrote = self._see = True

    def apply(self, steps: Sequence[Step]) -> list[Committed]:
        """
        Take each step into the transaction or find out that it lost.
        """
        answers: list[Committed] = []
        beaten: set[str] | None = None
        for step in steps:
            before, uid = step.before, step.after.uid
            answer: Committed
            if beaten is not None and uid in beaten:
                answer = Lost(uid)
            elif before is None:
                answer = self._made(step)
            else:
                answer = self._moved(step, before)
            if not isinstance(answer, Job):
                beaten = {uid} if beaten is None else beaten | {uid}
            answers.append(answer)
        return answers

    def remove(self, uid: str, revision: int) -> bool:
        """
        Remove a finished job with all its rows.
        """
        self._write_out()
        job = self._read(queries.JOB_BY_UID, (uid,))
        if job is None or job.revision != revision or not job.phase.final:
            return False
        job_id = self._one(queries.FIND_JOB, (uid,))
        self._db.executemany(queries.DROP_LABEL, [(*label, job_id) for label in job.labels.items()])
        self._execute(queries.DROP_JOB, (job_id,))
        self._count(job, -1)
        # The numbers of its events are never given out again.
        self._wrote = self._see = True
        return True

    def _made(self, step: Step) -> Committed:
        job = step.after
        request = (job.namespace, job.request_id)
        uid = self._requests.get(request) or self._one(queries.KNOWN_REQUEST, request)
        if uid is not None:
            change = self._changes.get(uid)
            taken = change.job if change else self._read(queries.JOB_BY_UID, (uid,))
            assert taken is not None
            return Taken(taken)
        # Uids grow with time, so a new one is hardly ever looked for.
        if job.uid <= self._uid and (job.uid in self._changes or self._one(queries.FIND_JOB, (job.uid,)) is not None):
            return Lost(job.uid)
        self._id += 1
        self._uid = max(self._uid, job.uid)
        self._requests[request] = job.uid
        created_us = rows.to_us(job.created_at)
        disorder_us, latest_us = self._order
        self._order = (max(disorder_us, latest_us - created_us), max(latest_us, created_us))
        self._changes[job.uid] = _Change(self._id, None, job)
        self._note(self._id, step, 1)
        return job

    def _moved(self, step: Step, before: Job) -> Committed:
        job = step.after if step.events else msgspec.structs.replace(before, wake_at=step.after.wake_at)
        change = self._changes.get(job.uid)
        if change is None:
            # Nobody else writes, so what is read inside the transaction still holds when it is written.
            found = self._execute(queries.FIND_JOB, (job.uid,)).fetchone()
            if found is None or found[1] != before.revision:
                return Lost(job.uid)
            change = self._changes[job.uid] = _Change(found[0], before, job)
        elif change.job.revision != before.revision:
            return Lost(job.uid)
        change.job = job
        self._note(change.job_id, step, before.revision + 1)
        return job

    def _note(self, job_id: int, step: Step, first: int) -> None:
        """
        Number the events of the step, from revision `first` on.
        """
        self._wrote = True
        at_us = rows.to_us(step.at)
        for revision, event in enumerate(step.events, first):
            self._seq += 1
            self._events.append(rows.appended(self._seq, job_id, revision, at_us, step.actor, event))

    def _write_out(self) -> None:
        """
        Write the changes so far, many rows with each statement.
        """
        made, labels, moved, touched, begun, followed = [], [], [], [], [], []
        for change in self._changes.values():
            job_id, stored, job = change.job_id, change.stored, change.job
            known = stored.attempts if stored else ()
            if stored is None:
                made.append(rows.inserted(job, self._slot(job), job_id))
                labels += [(*label, job_id) for label in job.labels.items()]
                self._count(job, 1)
            elif job.phase is stored.phase:
                touched.append(rows.touched(job, job_id))
            else:
                moved.append(rows.moved(job, self._slot(job), job_id))
                self._count(stored, -1)
                self._count(job, 1)
            if job.attempts is not known:
                followed += [
                    rows.followed(job_id, new) for old, new in zip(known, job.attempts, strict=False) if new is not old
                ]
                begun += [rows.begun(job_id, new) for new in job.attempts[len(known) :]]
        for sql, noted in (
            (queries.INSERT_JOB, made),
            (queries.PUT_LABEL, labels),
            (queries.MOVE_JOB, moved),
            (queries.TOUCH_JOB, touched),
            (queries.INSERT_ATTEMPT, begun),
            (queries.UPDATE_ATTEMPT, followed),
            (queries.APPEND_EVENT, self._events),
        ):
            if noted:
                self._db.executemany(sql, noted)
        self._changes.clear()
        self._requests.clear()
        self._events.clear()

    def _slot(self, job: Job) -> int:
        spec = job.spec
        key = (job.namespace, spec.engine, spec.queue, job.phase)
        slot_id = self._ids.get(key) or self._new_ids.get(key)
        if slot_id is None:
            slot_id = self._new_ids[key] = int(self._one(queries.NEW_SLOT, key))
        return slot_id

    def _count(self, job: Job, by: int) -> None:
        slot_id = self._slot(job)
        self._deltas[slot_id] = self._deltas.get(slot_id, 0) + by
        if not job.phase.final:
            self._unfinished += by

    def _read(self, sql: str, values: tuple[Any, ...]) -> Job | None:
        """
        The only job; None without one.
        """
        found = self._execute(sql, values).fetchone()
        return (
            None
            if found is None
            else rows.job_of(found, lambda job_id: self._execute(queries.ATTEMPTS_OF_JOB, (job_id,)))
        )

    def _one(self, sql: str, values: tuple[Any, ...] = ()) -> Any:
        """
        The first column of the only row; None without a row.
        """
        found = self._execute(sql, values).fetchone()
        return None if found is None else found[0]
