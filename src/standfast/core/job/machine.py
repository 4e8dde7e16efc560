"""
The job machine: `decide`, `evolve`, `plan`, `step`; pure, and the only way a job changes.

Belongs here: the four functions and the fold of each event into the record. The arrows are in `table.py`, what each
input means is in `decisions.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from standfast.core.errors import IllegalTransition, Rejected
from standfast.core.job import events as e
from standfast.core.job.actions import Action, AwaitTurn, Halt, Launch, Look, Remove, Rest
from standfast.core.job.attempt import EVIDENCE_MAX, Attempt, AttemptEnd, Stop
from standfast.core.job.cleanup import next_removal
from standfast.core.job.decisions import DECISIONS, submitted
from standfast.core.job.inputs import Cancel, Input, Resolve, Resume, Submit, Suspend
from standfast.core.job.state import Job, Outcome, Phase, Uncertain
from standfast.core.job.table import TRANSITIONS
from standfast.core.job.timers import wake_at

_COMMANDS = (Cancel, Suspend, Resume, Resolve)
replace = msgspec.structs.replace


class Step(msgspec.Struct, frozen=True, gc=False):
    """
    One move of one job: what it was, what happened at `at`, what it is now, and what must be done next outside.

    Without events only `after.wake_at` may differ from `before`. actor: who caused it, for the audit trail.
    """

    before: Job | None
    events: tuple[e.Event, ...]
    after: Job
    action: Action
    at: datetime
    actor: str = "standfast"


def decide(job: Job | None, given: Input, now: datetime) -> tuple[e.Event, ...]:
    """
    What happens to `job` when `given` reaches it at `now`; nothing, for an input that tells nothing new.

    Raises:
        Rejected: A command that does not fit the phase; code `already_final` or `not_in_this_phase`.
    """
    if job is None:
        if isinstance(given, Submit):
            return submitted(given)
        raise IllegalTransition(f"{type(given).__name__} before Submit")
    decision = DECISIONS.get((job.phase, type(given)))
    if decision is not None:
        return decision(job, given, now)
    if isinstance(given, _COMMANDS):
        verb = type(given).__name__.lower()
        if job.phase.final:
            raise Rejected(
                f"{job.uid} is {job.phase} for good, so it cannot {verb}",
                code="already_final",
                hint="A finished job stays as it is; `retry` makes a new one.",
            )
        raise Rejected(f"{job.uid} is {job.phase}, which does not allow {verb}", hint="See `moves` of the job.")
    return ()


def evolve(job: Job | None, event: e.Event, at: datetime) -> Job:
    """
    The job after the event; the arrow is looked up, and a missing one is a bug.

    Raises:
        IllegalTransition: No such arrow; the job given is untouched.
    """
    phase = TRANSITIONS.get((job.phase if job else None, type(event)))
    if phase is None:
        raise IllegalTransition(f"no arrow for {type(event).__name__} from {job.phase if job else 'nothing'}")
    if job is None:
        assert isinstance(event, e.Submitted) and event.spec is not None
        return Job(
            uid=event.uid,
            namespace=event.namespace,
            name=event.name,
            request_id=event.request_id,
            digest=event.digest,
            spec=event.spec,
            labels=event.labels,
            retry_of=event.retry_of,
            created_at=at,
            created_by=event.by,
            revision=1,
            phase=phase,
            phase_since=at,
            updated_at=at,
        )
    fold = _FOLDS.get(type(event))
    changed = fold(job, event, at) if fold else {}
    if phase is not job.phase:
        changed["phase_since"] = at
        if phase is not Phase.UNCERTAIN:
            changed.setdefault("uncertain", None)
    return replace(job, phase=phase, revision=job.revision + 1, updated_at=at, **changed)


def plan(job: Job, now: datetime, *, crossed: bool = False) -> Action:
    """
    What must be done next outside, from the stored job alone.

    crossed: this very step crossed the write boundary, so nobody can have sent the handle yet. In any other case a
    launching job is looked for first, which is all that a restart needs.
    """
    match job.phase:
        case Phase.QUEUED:
            return AwaitTurn()
        case Phase.LAUNCHING:
            return Launch(job.attempt.handle) if crossed else Look(job.attempt.handle)
        case Phase.RUNNING | Phase.UNCERTAIN if job.uncertain is None or job.uncertain.cause is None:
            return Look(job.attempt.handle)
        case Phase.STOPPING | Phase.UNCERTAIN:
            return Halt(job.attempt.handle, job.spec.stop_grace_s)
        case Phase.SUCCEEDED | Phase.FAILED | Phase.CANCELLED:
            due = next_removal(job)
            return Remove(due.what) if due is not None and due.at <= now else Rest()
    return Rest()


def step(job: Job | None, given: Input, now: datetime, *, actor: str = "standfast") -> Step:
    """
    Decide, fold, and set the next wake time: everything that a store commits in one transaction.
    """
    events = decide(job, given, now)
    after = job
    for event in events:
        after = evolve(after, event, now)
    assert after is not None
    wake = wake_at(after, now)
    if wake != after.wake_at:
        after = replace(after, wake_at=wake)
    crossed = any(isinstance(event, e.LaunchBegun | e.LaunchRepeated) for event in events)
    return Step(job, events, after, plan(after, now, crossed=crossed), now, actor)


# --- how each event changes the record -------------------------------------------------------------------------------


def _on_attempt(job: Job, **changes: Any) -> tuple[Attempt, ...]:
    return (*job.attempts[:-1], replace(job.attempt, **changes))


def _closed(job: Job, end: AttemptEnd, at: datetime) -> tuple[Attempt, ...]:
    attempt = job.attempt
    return _on_attempt(
        job,
        ending=end.ending,
        failure=end.failure,
        engine_status=end.engine_status or attempt.engine_status,
        started_at=end.started_at or attempt.started_at,
        ended_at=end.ended_at,
        closed_at=at,
        evidence=(*attempt.evidence, *end.evidence)[-EVIDENCE_MAX:],
        contact_lost_at=None,
        contact_lost_because=None,
    )


def _launch_begun(job: Job, event: e.LaunchBegun, at: datetime) -> dict[str, Any]:
    return {"attempts": (*job.attempts, event.attempt), "backoff_s": None, "because": None}


def _launch_repeated(job: Job, event: e.LaunchRepeated, at: datetime) -> dict[str, Any]:
    return {"attempts": _on_attempt(job, sent_at=at, sends=job.attempt.sends + 1)}


def _told(job: Job, event: e.Started | e.StatusChanged, at: datetime) -> dict[str, Any]:
    attempt = job.attempt
    attempts = _on_attempt(
        job,
        seen_at=attempt.seen_at or at,
        engine_status=event.engine_status or attempt.engine_status,
        engine_ref=event.engine_ref or attempt.engine_ref,
        engine_note=event.note,
        started_at=attempt.started_at or event.started_at,
    )
    return {"attempts": attempts}


def _contact_lost(job: Job, event: e.ContactLost, at: datetime) -> dict[str, Any]:
    return {"attempts": _on_attempt(job, contact_lost_at=at, contact_lost_because=event.reason)}


def _contact_regained(job: Job, event: e.ContactRegained, at: datetime) -> dict[str, Any]:
    return {"attempts": _on_attempt(job, contact_lost_at=None, contact_lost_because=None)}


def _stop_requested(job: Job, event: e.StopRequested, at: datetime) -> dict[str, Any]:
    stop = Stop(cause=event.cause, asked_at=at, by=event.by, reason=event.reason)
    return {"attempts": _on_attempt(job, stop=stop)}


def _became_uncertain(job: Job, event: e.BecameUncertain, at: datetime) -> dict[str, Any]:
    stop = job.attempt.stop
    doubt = Uncertain(
        doubt=event.doubt, since=at, message=event.message, cause=stop.cause if stop else None, end=event.end
    )
    return {"uncertain": doubt}


def _retry_scheduled(job: Job, event: e.RetryScheduled, at: datetime) -> dict[str, Any]:
    return {"attempts": _closed(job, event.end, at), "backoff_s": event.delay_s, "because": event.because}


def _suspended(job: Job, event: e.Suspended, at: datetime) -> dict[str, Any]:
    changed: dict[str, Any] = {"backoff_s": None, "because": f"suspended by {event.by}"}
    if event.end is not None:
        changed["attempts"] = _closed(job, event.end, at)
    return changed


def _resumed(job: Job, event: e.Resumed, at: datetime) -> dict[str, Any]:
    return {"because": None}


def _backoff_elapsed(job: Job, event: e.BackoffElapsed, at: datetime) -> dict[str, Any]:
    return {"backoff_s": None}


def _succeeded(job: Job, event: e.Succeeded, at: datetime) -> dict[str, Any]:
    return {
        "attempts": _closed(job, event.end, at),
        "outcome": Outcome.SUCCEEDED,
        "finished_at": at,
        "because": None,
    }


def _failed(job: Job, event: e.Failed, at: datetime) -> dict[str, Any]:
    attempts = _closed(job, event.end, at)
    return {"attempts": attempts, "outcome": Outcome.FAILED, "finished_at": at, "because": event.because}


def _cancelled(job: Job, event: e.Cancelled, at: datetime) -> dict[str, Any]:
    because = f"cancelled by {event.by}" + (f": {event.reason}" if event.reason else "")
    changed = {"outcome": Outcome.CANCELLED, "finished_at": at, "because": because, "backoff_s": None}
    if event.end is not None:
        changed["attempts"] = _closed(job, event.end, at)
    return changed


def _remainder_removed(job: Job, event: e.RemainderRemoved, at: datetime) -> dict[str, Any]:
    return {f"{event.what}_removed_at": at}


_FOLDS: Mapping[type[e.Event], Callable[[Job, Any, datetime], dict[str, Any]]] = {
    e.LaunchBegun: _launch_begun,
    e.LaunchRepeated: _launch_repeated,
    e.Started: _told,
    e.StatusChanged: _told,
    e.ContactLost: _contact_lost,
    e.ContactRegained: _contact_regained,
    e.StopRequested: _stop_requested,
    e.BecameUncertain: _became_uncertain,
    e.RetryScheduled: _retry_scheduled,
    e.Suspended: _suspended,
    e.Resumed: _resumed,
    e.BackoffElapsed: _backoff_elapsed,
    e.Succeeded: _succeeded,
    e.Failed: _failed,
    e.Cancelled: _cancelled,
    e.RemainderRemoved: _remainder_removed,
}
