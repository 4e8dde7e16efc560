"""
Records to rows and back: tuples in the order of the statements in `queries`, and nothing clever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from standfast.core.job import events as e
from standfast.core.job.attempt import Attempt, handle_of
from standfast.core.job.evidence import Ending
from standfast.core.job.state import Job, Outcome, Phase
from standfast.ports.store import StoredEvent
from standfast.wire.stored import (
    ATTEMPT,
    ORIGIN,
    STATE,
    VERSION,
    AttemptState,
    Origin,
    State,
    decode_event,
    encode_event,
)

Row = tuple[Any, ...]

_ZERO = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_NO_STATE, _NO_ATTEMPT_STATE = State(), AttemptState()
_NOTHING = (None,) * len(State.__struct_fields__)


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


def _at(us: int | None) -> datetime | None:
    return None if us is None else _ZERO + timedelta(microseconds=us)


# --- jobs ------------------------------------------------------------------------------------------------------------


def inserted(job: Job, slot: int, job_id: int) -> Row:
    """
    For `INSERT_JOB`: what never changes, then what `moved` also has.
    """
    spec = job.spec
    origin = Origin(digest=job.digest, spec=spec, created_by=job.created_by, labels=job.labels)
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
        VERSION,
        ORIGIN.encode(origin),
        job.phase,
        slot,
        *touched(job, job_id),
    )


def moved(job: Job, slot: int, job_id: int) -> Row:
    """
    For `MOVE_JOB`: a new phase and all that may come with it.
    """
    return (job.phase, slot, *touched(job, job_id))


def touched(job: Job, job_id: int) -> Row:
    """
    For `TOUCH_JOB`: all that may change within one phase.
    """
    rare = (job.backoff_s, job.uncertain, job.because, job.compute_removed_at, job.logs_removed_at)
    return (
        job.revision,
        len(job.attempts),
        to_us(job.phase_since),
        to_us(job.updated_at),
        _us(job.wake_at),
        _us(job.finished_at),
        VERSION,
        None if rare == _NOTHING else STATE.encode(State(*rare)),
        job_id,
    )


def job_of(row: Row, attempts: Callable[[int], Iterable[Row]]) -> Job:
    """
    The job of `queries.JOB_COLUMNS`; attempts: gives the rows of `ATTEMPTS_OF_JOB`, in the same snapshot.

    Raises:
        UnreadableRecord: As `wire.stored` says.
    """
    (
        job_id,
        uid,
        namespace,
        request_id,
        name,
        retry_of,
        created_us,
        origin_version,
        origin_json,
        phase,
        revision,
        attempt,
        since_us,
        updated_us,
        wake_us,
        finished_us,
        state_version,
        state_json,
    ) = row
    origin = ORIGIN.decode(origin_json, origin_version)
    state = _NO_STATE if state_json is None else STATE.decode(state_json, state_version)
    return Job(
        uid=uid,
        namespace=namespace,
        name=name,
        request_id=request_id,
        digest=origin.digest,
        spec=origin.spec,
        created_at=from_us(created_us),
        created_by=origin.created_by,
        revision=revision,
        phase=Phase(phase),
        phase_since=from_us(since_us),
        updated_at=from_us(updated_us),
        labels=origin.labels,
        retry_of=retry_of,
        attempts=tuple([attempt_of(uid, one) for one in attempts(job_id)]) if attempt else (),
        backoff_s=state.backoff_s,
        uncertain=state.uncertain,
        because=state.because,
        outcome=None if finished_us is None else Outcome(phase),
        finished_at=_at(finished_us),
        compute_removed_at=state.compute_removed_at,
        logs_removed_at=state.logs_removed_at,
        wake_at=_at(wake_us),
    )


# --- attempts --------------------------------------------------------------------------------------------------------


def begun(job_id: int, attempt: Attempt) -> Row:
    """
    For `INSERT_ATTEMPT`: what never changes, then what `followed` also has.
    """
    return (attempt.incarnation, to_us(attempt.begun_at), *followed(job_id, attempt))


def followed(job_id: int, attempt: Attempt) -> Row:
    """
    For `UPDATE_ATTEMPT`.
    """
    failure = attempt.failure
    state = AttemptState(
        resources=attempt.resources,
        mitigation=attempt.mitigation,
        engine_note=attempt.engine_note,
        contact_lost_at=attempt.contact_lost_at,
        contact_lost_because=attempt.contact_lost_because,
        stop=attempt.stop,
        failure=failure,
        evidence=attempt.evidence,
    )
    return (
        to_us(attempt.sent_at),
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
        VERSION,
        None if state == _NO_ATTEMPT_STATE else ATTEMPT.encode(state),
        job_id << 16 | attempt.number,
    )


def attempt_of(uid: str, row: Row) -> Attempt:
    """
    The attempt of `ATTEMPTS_OF_JOB`.

    Raises:
        UnreadableRecord: As `wire.stored` says.
    """
    (
        number,
        incarnation,
        begun_us,
        sent_us,
        sends,
        engine_status,
        engine_ref,
        seen_us,
        started_us,
        ended_us,
        closed_us,
        ending,
        version,
        document,
    ) = row
    state = _NO_ATTEMPT_STATE if document is None else ATTEMPT.decode(document, version)
    return Attempt(
        number=number,
        handle=handle_of(uid, number),
        incarnation=incarnation,
        begun_at=from_us(begun_us),
        sent_at=from_us(sent_us),
        sends=sends,
        resources=state.resources,
        mitigation=state.mitigation,
        seen_at=_at(seen_us),
        started_at=_at(started_us),
        ended_at=_at(ended_us),
        closed_at=_at(closed_us),
        engine_status=engine_status,
        engine_ref=engine_ref,
        engine_note=state.engine_note,
        contact_lost_at=state.contact_lost_at,
        contact_lost_because=state.contact_lost_because,
        stop=state.stop,
        ending=None if ending is None else Ending(ending),
        failure=state.failure,
        evidence=state.evidence,
    )


# --- events ----------------------------------------------------------------------------------------------------------


def appended(seq: int, job_id: int, revision: int, at_us: int, actor: str, event: e.Event) -> Row:
    """
    For `APPEND_EVENT`.
    """
    return (seq, job_id, revision, at_us, actor, VERSION, encode_event(event))


def event_of(row: Row) -> StoredEvent:
    """
    The event of `queries.EVENT_COLUMNS`.

    Raises:
        UnreadableRecord: As `wire.stored` says.
    """
    seq, uid, namespace, revision, at_us, actor, version, document, name, request_id, retry_of, *origin = row

    def submitted(by: str) -> e.Submitted:
        first = ORIGIN.decode(origin[1], origin[0])
        return e.Submitted(
            uid=uid,
            namespace=namespace,
            name=name,
            request_id=request_id,
            digest=first.digest,
            by=by,
            spec=None,
            labels=first.labels,
            retry_of=retry_of,
        )

    at = from_us(at_us)
    event = decode_event(document, version, uid=uid, at=at, submitted=submitted)
    return StoredEvent(seq, uid, namespace, revision, at, actor, event)
