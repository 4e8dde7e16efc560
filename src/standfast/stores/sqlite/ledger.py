"""
The ledger: how steps become rows of one open transaction, and the counters that are kept along the way.

Belongs here: everything written to the file once it is open. Not here: when a transaction begins and ends
(`committer`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import apsw
import msgspec

from standfast.core.job.inputs import Outage
from standfast.core.job.machine import Step
from standfast.core.job.state import Job, Phase
from standfast.ports.store import Committed, Epoch, Lost, Slot, Taken
from standfast.stores.sqlite import queries, rows
from standfast.wire.stored import VERSION, encode_event

Key = tuple[str, str, str, str]
"""namespace, engine, queue, phase."""

_FINAL = frozenset(phase.value for phase in Phase if phase.final)


class Ledger:
    """
    Writes on the writer's connection, inside a transaction that someone else opened.

    What it knows in memory (counters, newest sequence number) is of the last transaction that was kept: `keep` and
    `drop` follow every COMMIT and ROLLBACK.
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
        self._newest_uid: str = self._one(queries.NEWEST_UID) or ""
        self._latest_us: int = self._one(queries.LATEST_CREATION) or 0
        self.fence = 0
        self.unfinished = sum(self._counts[slot_id] for key, slot_id in self._ids.items() if key[3] not in _FINAL)
        self.seen_at: datetime | None = None
        self._clear()

    def _clear(self) -> None:
        self._seq = self.newest_seq
        self._order = (self._disorder_us, self._newest_uid, self._latest_us)
        self._new_ids: dict[Key, int] = {}
        self._deltas: dict[int, int] = {}
        self._begun: list[rows.Row] = []
        self._followed: list[rows.Row] = []
        self._events: list[rows.Row] = []
        self._unfinished = 0
        self._new_fence = self.fence
        self._wrote = False

    # --- around a transaction ----------------------------------------------------------------------------------------

    def seal(self, now: datetime) -> bool:
        """
        Write the counters and the sign of life; False, and nothing written, if the transaction changed nothing.
        """
        if not self._wrote:
            return False
        self._write_out()
        for slot_id, delta in self._deltas.items():
            if delta:
                self._execute(queries.COUNT_SLOT, (delta, slot_id))
        self._execute(queries.SEE_EPOCH, (rows.to_us(now), self._seq, self._order[0], self._new_fence))
        self._now = now
        return True

    def keep(self) -> None:
        """
        The transaction is durable.
        """
        if self._wrote:
            self.seen_at = self._now
        self.newest_seq, self.fence = self._seq, self._new_fence
        self._disorder_us, self._newest_uid, self._latest_us = self._order
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

    # --- inside a transaction ----------------------------------------------------------------------------------------

    def begin(self, now: datetime) -> Epoch:
        """
        Open a new epoch; the outages are those that reach past the creation of the oldest unfinished job.
        """
        epochs = list(self._execute(queries.EPOCHS))
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
        self._wrote = True

    def apply(self, steps: Sequence[Step]) -> list[Committed]:
        """
        Write each step or find out that it lost.
        """
        answers: list[Committed] = []
        beaten: set[str] = set()
        for step in steps:
            answer: Committed
            if step.after.uid in beaten:
                answer = Lost(step.after.uid)
            elif step.before is None:
                answer = self._insert(step)
            else:
                answer = self._update(step, step.before)
            if not isinstance(answer, Job):
                beaten.add(step.after.uid)
            answers.append(answer)
        return answers

    def remove(self, uid: str, revision: int) -> bool:
        """
        Remove a finished job with all its rows.
        """
        found = self._execute(queries.JOB_BY_UID, (uid,)).fetchone()
        job = rows.job_of(*found) if found else None
        if job is None or job.revision != revision or not job.phase.final:
            return False
        self._write_out()
        for key, value in job.labels.items():
            self._execute(queries.DROP_LABEL, (key, value, uid))
        self._execute(queries.DROP_JOB, (uid,))
        self._count(job, -1)
        self._wrote = True
        return True

    def _insert(self, step: Step) -> Committed:
        job = step.after
        self._execute(queries.INSERT_JOB, rows.inserted(job, self._slot(job)))
        if not self._db.changes():
            # Either identity is known. The index answers as well as a read before it would, and in one statement.
            taken = self._execute(queries.JOB_BY_REQUEST, (job.namespace, job.request_id)).fetchone()
            return Lost(job.uid) if taken is None else Taken(rows.job_of(*taken))
        self._note_order(job)
        for label in job.labels.items():
            self._execute(queries.PUT_LABEL, (*label, job.uid))
        self._count(job, 1)
        self._follow(self._db.last_insert_rowid(), step, first=1)
        return job

    def _update(self, step: Step, before: Job) -> Committed:
        job = step.after if step.events else msgspec.structs.replace(before, wake_at=step.after.wake_at)
        # Nobody else writes, so what is read inside the transaction still holds when it is written.
        found = self._execute(queries.FIND_JOB, (job.uid,)).fetchone()
        if found is None or found[1] != before.revision:
            return Lost(job.uid)
        job_id = found[0]
        if job.phase is before.phase:
            self._execute(queries.TOUCH_JOB, rows.touched(job, job_id))
        else:
            self._execute(queries.MOVE_JOB, rows.moved(job, self._slot(job), job_id))
            self._count(before, -1)
            self._count(job, 1)
        self._follow(job_id, step, first=before.revision + 1)
        return job

    def _follow(self, job_id: int, step: Step, *, first: int) -> None:
        """
        Note the attempts that changed and the events; `_write_out` writes them, many with one statement.
        """
        self._wrote = True
        job, before = step.after, step.before
        known = before.attempts if before else ()
        if job.attempts is not known:
            for old, new in zip(known, job.attempts, strict=False):
                if new is not old:
                    self._followed.append(rows.followed(job_id, new))
            self._begun += [rows.begun(job_id, new) for new in job.attempts[len(known) :]]
        at_us = rows.to_us(step.at)
        for revision, event in enumerate(step.events, start=first):
            self._seq += 1
            document = encode_event(event).decode()
            self._events.append((self._seq, job_id, job.namespace, revision, at_us, step.actor, VERSION, document))

    def _write_out(self) -> None:
        for sql, noted in (
            (queries.INSERT_ATTEMPT, self._begun),
            (queries.UPDATE_ATTEMPT, self._followed),
            (queries.APPEND_EVENT, self._events),
        ):
            if noted:
                self._db.executemany(sql, noted)
                noted.clear()

    def _note_order(self, job: Job) -> None:
        """
        Widen the disorder if the new job is out of order: made before one whose uid sorts in front of its own, or its
        uid sorts in front of one that was made before it.
        """
        disorder_us, newest_uid, latest_us = self._order
        created_us = rows.to_us(job.created_at)
        if job.uid < newest_uid:
            behind_us = self._one(queries.CREATION_BEHIND, (job.uid,))
            if behind_us is not None:
                disorder_us = max(disorder_us, disorder_us + created_us - behind_us)
        disorder_us = max(disorder_us, latest_us - created_us)
        self._order = (disorder_us, max(newest_uid, job.uid), max(latest_us, created_us))

    def _slot(self, job: Job) -> int:
        spec = job.spec
        key = (job.namespace, spec.engine, spec.queue, job.phase)
        slot_id = self._ids.get(key) or self._new_ids.get(key)
        if slot_id is None:
            slot_id = self._new_ids[key] = int(self._one(queries.NEW_SLOT, key))
            self._wrote = True
        return slot_id

    def _count(self, job: Job, by: int) -> None:
        slot_id = self._slot(job)
        self._deltas[slot_id] = self._deltas.get(slot_id, 0) + by
        if not job.phase.final:
            self._unfinished += by

    def _one(self, sql: str, values: tuple[Any, ...] = ()) -> Any:
        """
        The first column of the only row; None without a row.
        """
        found = self._execute(sql, values).fetchone()
        return None if found is None else found[0]
