"""
What each input makes of a job in each phase: one row per pair that means something.

Belongs here: `DECISIONS`, and the few lines behind each row. A pair without a row is no event for an observation or
for time (seeing the expected is not news), and a refusal for a command.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from standfast.core.errors import FieldError, InvalidSpec, Rejected
from standfast.core.failure import Failure, FailureClass
from standfast.core.job import events as e
from standfast.core.job import timers
from standfast.core.job.attempt import Attempt, AttemptEnd, StopCause, handle_of
from standfast.core.job.cleanup import next_removal
from standfast.core.job.ending import close, end_by_refusal, end_of, end_without_report
from standfast.core.job.evidence import Ending, Evidence, Rank, Verdict
from standfast.core.job.inputs import Admit, Cancel, Due, Remainder, Removed, Resolve, Resume, Submit, Suspend
from standfast.core.job.observation import Absent, Ended, Present, Refused, RunState, Unreachable
from standfast.core.job.state import Doubt, Job, Outcome, Phase
from standfast.core.retry import grown_mib

Events = tuple[e.Event, ...]
NOTHING: Events = ()

SENDS_MAX = 5
"""After so many sends that left no trace, the engine is taken to refuse the attempt."""


def submitted(given: Submit) -> Events:
    """
    The first events of a job: accepted, and held at once if the spec says so.
    """
    fact = e.Submitted(
        uid=given.uid,
        namespace=given.namespace,
        name=given.name,
        request_id=given.request_id,
        digest=given.digest,
        by=given.by,
        spec=given.spec,
        labels=given.labels,
        retry_of=given.retry_of,
    )
    return (fact, e.Suspended(by=given.by)) if given.spec.suspend else (fact,)


# --- waiting ---------------------------------------------------------------------------------------------------------


def _admit(job: Job, given: Admit, now: datetime) -> Events:
    if job.spec.start_at is not None and now < job.spec.start_at:
        return NOTHING
    number = len(job.attempts) + 1
    resources, mitigation = job.spec.resources, None
    if job.attempts:
        last = job.attempt
        resources = last.resources
        change = job.spec.retry.mitigate.get(last.failure.failure_class) if last.failure else None
        if change is not None and resources.memory_mib is not None:
            memory_mib = grown_mib(change, resources.memory_mib)
            if memory_mib != resources.memory_mib:
                mitigation = f"memory {resources.memory_mib} -> {memory_mib} MiB"
                resources = msgspec.structs.replace(resources, memory_mib=memory_mib)
    attempt = Attempt(
        number=number,
        handle=handle_of(job.uid, number),
        incarnation=given.incarnation,
        begun_at=now,
        sent_at=now,
        resources=resources,
        mitigation=mitigation,
    )
    return (e.LaunchBegun(attempt=attempt),)


def _cancel_waiting(job: Job, given: Cancel, now: datetime) -> Events:
    return (e.Cancelled(by=given.by, reason=given.reason),)


def _suspend_waiting(job: Job, given: Suspend, now: datetime) -> Events:
    return (e.Suspended(by=given.by),)


def _resume(job: Job, given: Resume, now: datetime) -> Events:
    return (e.Resumed(by=given.by),)


def _already(job: Job, given: Any, now: datetime) -> Events:
    return NOTHING


def _backoff_due(job: Job, given: Due, now: datetime) -> Events:
    return (e.BackoffElapsed(),) if timers.past_backoff(job, now) else NOTHING


# --- past the write boundary -----------------------------------------------------------------------------------------


def _started(job: Job, given: Present, now: datetime) -> Events:
    if given.state is RunState.STARTING and job.phase is Phase.LAUNCHING:
        return _status(job, given, now)
    return (
        e.Started(
            engine_status=given.engine_status,
            engine_ref=given.engine_ref,
            note=given.note,
            started_at=given.started_at,
            source=given.by,
        ),
    )


def _status(job: Job, given: Present, now: datetime) -> Events:
    attempt = job.attempt
    told = ((given.engine_status, attempt.engine_status), (given.engine_ref, attempt.engine_ref))
    same = all(new is None or new == old for new, old in told)
    # A start time is news once: engines reckon it anew from clocks that may have been set.
    dated = given.started_at is None or attempt.started_at is not None
    if same and dated and attempt.seen_at is not None:
        return NOTHING
    return (
        e.StatusChanged(
            engine_status=given.engine_status,
            engine_ref=given.engine_ref,
            note=given.note,
            started_at=given.started_at,
            source=given.by,
        ),
    )


def _ended(job: Job, given: Ended, now: datetime) -> Events:
    return close(job, end_of(job, given, now), source=given.by)


def _refused(job: Job, given: Refused, now: datetime) -> Events:
    """
    A no to an attempt that has been seen contradicts itself, and decides nothing: something of it may be alive.
    """
    if job.attempt.seen_at is not None:
        return NOTHING
    return close(job, end_by_refusal(given.failure, source=given.by, now=now), source=given.by)


def _absent_launching(job: Job, given: Absent, now: datetime) -> Events:
    """
    Proven absent in the life it was sent to: send again. Anything less: say what is not known.
    """
    attempt = job.attempt
    if _stale(attempt, given, now):
        return NOTHING
    if attempt.seen_at is not None:
        return _absent_running(job, given, now)
    if given.incarnation != attempt.incarnation:
        message = (
            f"sent to {attempt.incarnation}, but the engine now lives as {given.incarnation}: absence proves nothing"
        )
        return _doubt(job, Doubt.ENGINE_FORGOT, message, given.by)
    if not given.proven or not _quiet(attempt, given, now):
        message = "sent, and not to be found; a send still on its way is not ruled out"
        return _doubt(job, Doubt.ABSENCE_UNPROVEN, message, given.by)
    if given.final:
        return close(job, end_without_report(job, source=given.by, now=now), source=given.by)
    if attempt.sends >= SENDS_MAX:
        # Voided before another attempt: one of the sends may be under way, and would start beside it.
        reason = f"sent {attempt.sends} times, and the engine holds no trace of it"
        return (e.StopRequested(cause=StopCause.LOST, by="standfast", reason=reason),)
    return (e.LaunchRepeated(because=f"{given.by}: absent in the life it was sent to"),)


def _quiet(attempt: Attempt, given: Absent, now: datetime) -> bool:
    """
    Whether the engine's quiet time since the last send is over; also if the clock was set back behind that send.
    """
    return not 0 <= (now - attempt.sent_at).total_seconds() < given.quiet_s


def _stale(attempt: Attempt, given: Absent, now: datetime) -> bool:
    """
    Whether it was looked for before it was last sent or first seen; unless the clock was set back since.
    """
    latest = max(attempt.sent_at, attempt.seen_at or attempt.sent_at)
    return given.at < latest <= now


def _unanswered(job: Job, given: Unreachable, now: datetime) -> Events:
    if job.attempt.seen_at is not None:
        # It was answered once and is starting; silence since then is no news about the launch.
        return NOTHING
    message = f"sent, and no answer ({given.reason}): it may be running"
    return _doubt(job, Doubt.SUBMIT_UNANSWERED, message, given.by)


def _stop_by_cancel(job: Job, given: Cancel, now: datetime) -> Events:
    return (e.StopRequested(cause=StopCause.CANCEL, by=given.by, reason=given.reason),)


def _stop_by_suspend(job: Job, given: Suspend, now: datetime) -> Events:
    return (e.StopRequested(cause=StopCause.SUSPEND, by=given.by, reason=given.reason),)


def _launching_due(job: Job, given: Due, now: datetime) -> Events:
    if timers.past_start_deadline(job, now, given.outages):
        reason = f"no sign of life in {job.spec.start_deadline_s:g} s"
        return (e.StopRequested(cause=StopCause.START_DEADLINE, by="standfast", reason=reason),)
    return NOTHING


# --- seen alive ------------------------------------------------------------------------------------------------------


def _present_running(job: Job, given: Present, now: datetime) -> Events:
    regained: Events = (e.ContactRegained(source=given.by),) if job.attempt.contact_lost_at else NOTHING
    return regained + _status(job, given, now)


def _absent_running(job: Job, given: Absent, now: datetime) -> Events:
    """
    It was there, and is not: a lost attempt, to be stopped and confirmed, never sent again.
    """
    if _stale(job.attempt, given, now):
        return NOTHING
    if given.proven and given.incarnation == job.attempt.incarnation:
        return (e.StopRequested(cause=StopCause.LOST, by="standfast", reason=f"{given.by}: absent after it was seen"),)
    message = "it was there, and the engine no longer knows it; that does not prove that it is dead"
    return _doubt(job, Doubt.ENGINE_FORGOT, message, given.by)


def _contact_lost(job: Job, given: Unreachable, now: datetime) -> Events:
    if job.attempt.contact_lost_at is not None:
        return NOTHING
    return (e.ContactLost(reason=given.reason, source=given.by),)


def _running_due(job: Job, given: Due, now: datetime) -> Events:
    if timers.past_deadline(job, now):
        reason = f"ran longer than {job.spec.deadline_s:g} s"
        return (e.StopRequested(cause=StopCause.DEADLINE, by="standfast", reason=reason),)
    return NOTHING


# --- being stopped ---------------------------------------------------------------------------------------------------


def _ended_stopping(job: Job, given: Ended, now: datetime) -> Events:
    if given.gone is Verdict.PROVEN:
        return _ended(job, given, now)
    return _unconfirmed(job, f"it ended, but something of it may be alive ({given.gone_source})", given.by, now)


def _absent_stopping(job: Job, given: Absent, now: datetime) -> Events:
    """
    Absent is not dead: only once the engine will refuse the handle for good can no send still on its way start it.
    """
    if given.proven and given.final and given.incarnation == job.attempt.incarnation:
        return close(job, end_without_report(job, source=given.by, now=now), source=given.by)
    return _unconfirmed(job, "the engine does not know it, which does not prove that it is dead", given.by, now)


def _present_stopping(job: Job, given: Present, now: datetime) -> Events:
    return _unconfirmed(job, f"still {given.state} ({given.note or given.engine_status or 'no detail'})", given.by, now)


def _unreachable_stopping(job: Job, given: Unreachable, now: datetime) -> Events:
    return _unconfirmed(job, f"the engine does not answer ({given.reason})", given.by, now)


def _unconfirmed(job: Job, message: str, source: str, now: datetime) -> Events:
    if job.phase is Phase.STOPPING and timers.past_stop_patience(job, now):
        return (e.BecameUncertain(doubt=Doubt.STOP_UNCONFIRMED, message=message, source=source),)
    return NOTHING


def _cancel_stopping(job: Job, given: Cancel, now: datetime) -> Events:
    stop = job.attempt.stop
    return NOTHING if stop and stop.cause is StopCause.CANCEL else _stop_by_cancel(job, given, now)


def _suspend_stopping(job: Job, given: Suspend, now: datetime) -> Events:
    stop = job.attempt.stop
    if stop and stop.cause is StopCause.CANCEL:
        raise Rejected("the job is being cancelled", hint="Nothing to do: it will not run again.")
    return NOTHING if stop and stop.cause is StopCause.SUSPEND else _stop_by_suspend(job, given, now)


# --- not known -------------------------------------------------------------------------------------------------------


def _present_uncertain(job: Job, given: Present, now: datetime) -> Events:
    cause = job.uncertain.cause if job.uncertain else None
    if cause is None:
        return _started(job, given, now)
    return NOTHING


def _absent_uncertain(job: Job, given: Absent, now: datetime) -> Events:
    cause = job.uncertain.cause if job.uncertain else None
    proven = given.proven and given.incarnation == job.attempt.incarnation
    if not (proven and _quiet(job.attempt, given, now)):
        return NOTHING
    if cause is not None:
        return _absent_stopping(job, given, now)
    if job.uncertain is not None and job.uncertain.end is not None:
        return close(job, _and_gone(job.uncertain.end, source=given.by, now=now), source=given.by)
    return _absent_launching(job, given, now)


def _and_gone(end: AttemptEnd, *, source: str, now: datetime) -> AttemptEnd:
    """
    A known end, now that its death is proven too.
    """
    gone = Evidence(claim="gone", verdict=Verdict.PROVEN, source=source, at=now)
    return msgspec.structs.replace(end, evidence=(*end.evidence, gone))


def _ended_uncertain(job: Job, given: Ended, now: datetime) -> Events:
    cause = job.uncertain.cause if job.uncertain else None
    if cause is not None and given.gone is not Verdict.PROVEN:
        return NOTHING
    return _ended(job, given, now)


def _suspend_uncertain(job: Job, given: Suspend, now: datetime) -> Events:
    """
    A cancel that was accepted stands, also while its confirmation is in doubt.
    """
    if job.uncertain is not None and job.uncertain.cause is StopCause.CANCEL:
        raise Rejected("the job is being cancelled", hint="Nothing to do: it will not run again.")
    return _stop_by_suspend(job, given, now)


def _resolve(job: Job, given: Resolve, now: datetime) -> Events:
    """
    A person's word: recorded first, then acted on as if it had been seen.
    """
    if not given.because.strip():
        raise InvalidSpec([FieldError("/because", "required", "say on what the answer rests")])
    said: Events = (e.Resolved(by=given.by, answer=given.answer, because=given.because, outcome=given.outcome),)
    source = f"{given.by}: {given.because}"
    cause = job.uncertain.cause if job.uncertain else None
    if given.answer == "present":
        if cause is not None:
            return (*said, e.StopRequested(cause=cause, by=given.by, reason="resolved as present"))
        return (*said, e.Started(source=source))
    if given.answer == "absent":
        if cause is None and job.attempt.seen_at is None:
            return (*said, e.LaunchRepeated(because=source))
        end = end_without_report(job, source=source, now=now, rank=Rank.PERSON)
        if job.uncertain is not None and job.uncertain.end is not None:
            known = job.uncertain.end
            # The word says that it is over, not that it went well.
            ending = Ending.FAILED if known.ending is Ending.UNKNOWN else known.ending
            end = msgspec.structs.replace(known, ending=ending, evidence=(*known.evidence, *end.evidence))
        return said + close(job, end, source=source)
    if given.outcome is None:
        raise InvalidSpec([FieldError("/outcome", "required", "say how it ended: succeeded, failed or cancelled")])
    # A word is recorded as one: it settles the job, and proves nothing.
    word, gone = (
        Evidence(claim=claim, verdict=Verdict.NOT_CHECKED, source=source, at=now, rank=Rank.PERSON, detail=detail)
        for claim, detail in (("outcome", given.outcome.value), ("gone", None))
    )
    seen = job.uncertain.end.evidence if job.uncertain is not None and job.uncertain.end is not None else ()
    failure = None
    if given.outcome is Outcome.FAILED:
        failure = Failure.of(FailureClass.UNKNOWN, "resolved", given.because)
    end = AttemptEnd(ending=Ending(given.outcome.value), failure=failure, evidence=(*seen, word, gone))
    match given.outcome:
        case Outcome.SUCCEEDED:
            return (*said, e.Succeeded(end=end))
        case Outcome.FAILED:
            return (*said, e.Failed(end=end, because=f"resolved by {given.by}"))
        case Outcome.CANCELLED:
            return (*said, e.Cancelled(by=given.by, reason=given.because, end=end))


def _doubt(job: Job, doubt: Doubt, message: str, source: str) -> Events:
    """
    Say what is not known, once: a doubt that already stands is not news.
    """
    if job.uncertain is not None and job.uncertain.doubt is doubt:
        return NOTHING
    return (e.BecameUncertain(doubt=doubt, message=message, source=source),)


# --- final -----------------------------------------------------------------------------------------------------------


def _removed(job: Job, given: Removed, now: datetime) -> Events:
    due = next_removal(job)
    if due is None or due.what is not given.what or given.what is Remainder.RECORD:
        return NOTHING
    return (e.RemainderRemoved(what=given.what),)


Decide = Callable[[Job, Any, datetime], Events]
_Q, _L, _R, _S = Phase.QUEUED, Phase.LAUNCHING, Phase.RUNNING, Phase.STOPPING
_B, _H, _U = Phase.BACKING_OFF, Phase.SUSPENDED, Phase.UNCERTAIN

DECISIONS: Mapping[tuple[Phase, type], Decide] = {
    (_Q, Admit): _admit,
    (_Q, Cancel): _cancel_waiting,
    (_Q, Suspend): _suspend_waiting,
    (_Q, Resume): _already,
    (_H, Cancel): _cancel_waiting,
    (_H, Suspend): _already,
    (_H, Resume): _resume,
    (_B, Due): _backoff_due,
    (_B, Cancel): _cancel_waiting,
    (_B, Suspend): _suspend_waiting,
    (_B, Resume): _already,
    (_L, Present): _started,
    (_L, Ended): _ended,
    (_L, Refused): _refused,
    (_L, Absent): _absent_launching,
    (_L, Unreachable): _unanswered,
    (_L, Cancel): _stop_by_cancel,
    (_L, Suspend): _stop_by_suspend,
    (_L, Resume): _already,
    (_L, Due): _launching_due,
    (_R, Present): _present_running,
    (_R, Ended): _ended,
    (_R, Absent): _absent_running,
    (_R, Unreachable): _contact_lost,
    (_R, Cancel): _stop_by_cancel,
    (_R, Suspend): _stop_by_suspend,
    (_R, Resume): _already,
    (_R, Due): _running_due,
    (_S, Present): _present_stopping,
    (_S, Ended): _ended_stopping,
    (_S, Refused): _refused,
    (_S, Absent): _absent_stopping,
    (_S, Unreachable): _unreachable_stopping,
    (_S, Cancel): _cancel_stopping,
    (_S, Suspend): _suspend_stopping,
    (_U, Present): _present_uncertain,
    (_U, Ended): _ended_uncertain,
    (_U, Refused): _refused,
    (_U, Absent): _absent_uncertain,
    (_U, Cancel): _stop_by_cancel,
    (_U, Suspend): _suspend_uncertain,
    (_U, Resolve): _resolve,
    (Phase.SUCCEEDED, Removed): _removed,
    (Phase.FAILED, Removed): _removed,
    (Phase.CANCELLED, Removed): _removed,
    (Phase.CANCELLED, Cancel): _already,
}
