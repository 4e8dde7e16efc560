"""
Records to rows and back: tuples in the order of the statements in `queries`, and nothing clever.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from standfast.core.job.attempt import Attempt
from standfast.core.job.state import Job
from standfast.ports.store import StoredEvent
from standfast.wire.stored import VERSION, decode_event, decode_job, encode_job

Row = tuple[Any, ...]

_ZERO = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_us(at: datetime) -> int:
    """
    Aware time as microseconds since 1970-01-01 in UTC.
    """
    return (at - _ZERO) // _MICROSECOND


def from_us(us: int) -> datetime:
    """
    The aware UTC time of those microseconds.
    """
    return _ZERO + timedelta(microseconds=us)


def _us(at: datetime | None) -> int | None:
    return None if at is None else (at - _ZERO) // _MICROSECOND


def inserted(job: Job, slot: int) -> Row:
    """
    For `INSERT_JOB`: what never changes, then what `moved` also has.
    """
    spec = job.spec
    return (
        job.uid,
        job.namespace,
        job.request_id,
        job.name,
        spec.engine,
        spec.queue,
        spec.priority,
        job.retry_of,
        to_us(job.created_at),
        _us(spec.start_at),
        job.phase,
        slot,
        *_state(job),
    )


def moved(job: Job, slot: int, job_id: int) -> Row:
    """
    For `MOVE_JOB`: a new phase and all that may come with it.
    """
    return (job.phase, slot, *_state(job), job_id)


def touched(job: Job, job_id: int) -> Row:
    """
    For `TOUCH_JOB`: all that may change within one phase.
    """
    return (*_state(job), job_id)


def _state(job: Job) -> Row:
    attempt = job.attempts[-1] if job.attempts else None
    return (
        job.revision,
        attempt.number if attempt else 0,
        job.outcome,
        attempt.failure.failure_class if attempt and attempt.failure else None,
        _us(job.wake_at),
        _us(job.finished_at),
        VERSION,
        encode_job(job).decode(),
    )


def begun(job_id: int, attempt: Attempt) -> Row:
    """
    For `INSERT_ATTEMPT`: what never changes, then what `followed` also has.
    """
    return (attempt.incarnation, attempt.handle, to_us(attempt.begun_at), *followed(job_id, attempt))


def followed(job_id: int, attempt: Attempt) -> Row:
    """
    For `UPDATE_ATTEMPT`.
    """
    failure = attempt.failure
    return (
        attempt.sends,
        attempt.engine_status,
        attempt.engine_ref,
        _us(attempt.seen_at),
        _us(attempt.started_at),
        _us(attempt.ended_at),
        _us(attempt.closed_at),
        attempt.ending,
        failure.failure_class if failure else None,
        failure.code if failure else None,
        job_id,
        attempt.number,
    )


def job_of(version: int, document: str) -> Job:
    """
    The job of (version, document).

    Raises:
        UnreadableRecord: As `wire.stored` says.
    """
    return decode_job(document, version)


def event_of(row: Row) -> StoredEvent:
    """
    The event of (seq, uid, namespace, revision, at, actor, version, document).

    Raises:
        UnreadableRecord: As `wire.stored` says.
    """
    seq, uid, namespace, revision, at, actor, version, document = row
    return StoredEvent(seq, uid, namespace, revision, from_us(at), actor, decode_event(document, version))
