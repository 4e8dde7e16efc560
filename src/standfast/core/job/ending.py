"""
How an attempt ended, decided from ranked evidence, and what that means for its job.

No single answer of an engine is trusted: the strongest finding that says anything decides, and whatever disagrees is
kept beside it as refuted. Source of the ranking: measured contradictions of Spark 4.3 masters, event logs and exit
codes, where a receipt written by the attempt was the only record that was never wrong.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from standfast.core.failure import Failure, FailureClass, classify
from standfast.core.job import events as e
from standfast.core.job.attempt import Attempt, AttemptEnd, Stop, StopCause
from standfast.core.job.evidence import Ending, Evidence, Finding, Rank, Verdict
from standfast.core.job.observation import Ended
from standfast.core.job.spec import Spec
from standfast.core.job.state import Doubt, Job
from standfast.core.retry import NoRetry, next_try

_STOPPED = {StopCause.CANCEL: Ending.CANCELLED, StopCause.SUSPEND: Ending.SUSPENDED}
_STOP_FAILURES = {
    StopCause.DEADLINE: (FailureClass.TIMEOUT, "deadline", "it ran past its deadline", None),
    StopCause.START_DEADLINE: (
        FailureClass.TIMEOUT,
        "start_deadline",
        "it gave no sign of life in time",
        True,
    ),
    StopCause.LOST: (FailureClass.NODE_LOST, "lost", "its engine lost it", None),
}


def end_of(job: Job, ended: Ended, now: datetime) -> AttemptEnd:
    """
    The attempt's end as the strongest finding tells it, with every finding kept as evidence.
    """
    attempt = job.attempt
    ranked = sorted(ended.findings, key=lambda f: f.rank, reverse=True)
    telling = next((f for f in ranked if f.ending is not Ending.UNKNOWN), None)
    ending, failure = _judge(job.spec, attempt, ended, telling)
    evidence = [_kept(f, telling, now) for f in ranked]
    if ending in (Ending.CANCELLED, Ending.SUSPENDED) and attempt.stop is not None:
        detail = f"stopped by us ({attempt.stop.cause}) before it ended"
        evidence.append(Evidence(claim="stopped", verdict=Verdict.PROVEN, source=ended.by, at=now, detail=detail))
    evidence.append(Evidence(claim="gone", verdict=ended.gone, source=ended.gone_source, at=now))
    return AttemptEnd(
        ending=ending,
        failure=failure,
        engine_status=ended.engine_status or attempt.engine_status,
        started_at=attempt.started_at or ended.started_at,
        ended_at=ended.ended_at,
        evidence=tuple(evidence),
    )


def end_without_report(job: Job, *, source: str, now: datetime, rank: Rank | None = None) -> AttemptEnd:
    """
    The end of an attempt that is confirmed gone but left no report: its stop explains it, else it was lost.

    rank: PERSON if somebody's word is all that says so; None: the engine proved it.
    """
    stop = job.attempt.stop
    cause = stop.cause if stop else StopCause.LOST
    ending, failure = _stopped(cause)
    if cause is StopCause.LOST and job.attempt.seen_at is None:
        message = f"sent {job.attempt.sends} times, and the engine holds no trace of it"
        failure = Failure.of(FailureClass.SUBMISSION_REFUSED, "left_no_trace", message, retryable=True, free=True)
    verdict = Verdict.NOT_CHECKED if rank is Rank.PERSON else Verdict.PROVEN
    evidence = (Evidence(claim="gone", verdict=verdict, source=source, at=now, rank=rank),)
    return AttemptEnd(
        ending=ending,
        failure=failure,
        engine_status=job.attempt.engine_status,
        started_at=job.attempt.started_at,
        evidence=evidence,
    )


def end_by_refusal(failure: Failure, *, source: str, now: datetime) -> AttemptEnd:
    """
    The end of an attempt that the engine refused to start.
    """
    evidence = (
        Evidence(
            claim="outcome",
            verdict=Verdict.PROVEN,
            source=source,
            at=now,
            rank=Rank.END_REPORT,
            detail=f"refused: {failure.message}",
        ),
        Evidence(claim="gone", verdict=Verdict.PROVEN, source=source, at=now, detail="it never ran"),
    )
    return AttemptEnd(ending=Ending.FAILED, failure=failure, evidence=evidence)


def close(job: Job, end: AttemptEnd, *, source: str) -> tuple[e.Event, ...]:
    """
    The event that an attempt's end makes of its job: final, another attempt, suspended, or a doubt about its death.
    """
    stop = job.attempt.stop
    by = stop.by if stop else "engine"
    match end.ending:
        case Ending.SUCCEEDED:
            return (e.Succeeded(end=end),)
        case Ending.CANCELLED:
            return (e.Cancelled(by=by, reason=stop.reason if stop else None, end=end),)
        case Ending.SUSPENDED:
            return (e.Suspended(by=by, end=end),)
    failure = end.failure or Failure.of(FailureClass.UNKNOWN, "unclassified", "no evidence of its end")
    if end.ending is Ending.UNKNOWN and FailureClass.UNKNOWN not in (job.spec.retry.on or ()):
        # Not known is not failed: it may have done its work. Only a policy that says so may run it again.
        return _doubt(
            job, Doubt.OUTCOME_UNKNOWN, f"it has ended, and its outcome is not known: {failure.message}", source, end
        )
    end = AttemptEnd(
        ending=Ending.NEVER_RAN if failure.free else Ending.FAILED,
        failure=failure,
        engine_status=end.engine_status,
        started_at=end.started_at,
        ended_at=end.ended_at,
        evidence=end.evidence,
    )
    if stop is not None and stop.cause is StopCause.CANCEL:
        return (e.Failed(end=end, because="it failed by itself before the cancel reached it"),)
    earlier = [a.failure for a in job.attempts[:-1] if a.failure is not None]
    answer = next_try(
        job.spec.retry,
        [*earlier, failure],
        seed=job.attempt.handle,
        mitigated=job.attempt.mitigation is not None,
        memory_mib=job.attempt.resources.memory_mib,
    )
    if isinstance(answer, NoRetry):
        return (e.Failed(end=end, because=answer.because),)
    if not job.spec.retry.unproven_gone and not _settled_gone(end):
        message = "it failed, and another attempt must not start while something of it may be alive"
        return _doubt(job, Doubt.GONE_UNPROVEN, message, source, end)
    if stop is not None and stop.cause is StopCause.SUSPEND:
        return (e.Suspended(by=by, end=end),)
    return (e.RetryScheduled(end=end, delay_s=round(answer.delay_s, 3), because=answer.because),)


def _doubt(job: Job, doubt: Doubt, message: str, source: str, end: AttemptEnd) -> tuple[e.Event, ...]:
    """
    Say once what is not known about the end; a doubt that already stands is not news.
    """
    if job.uncertain is not None and job.uncertain.doubt is doubt:
        return ()
    return (e.BecameUncertain(doubt=doubt, message=message, source=source, end=end),)


def _settled_gone(end: AttemptEnd) -> bool:
    """
    Whether its death is proven, or vouched for by a person.
    """
    return any(ev.claim == "gone" and (ev.verdict is Verdict.PROVEN or ev.rank is Rank.PERSON) for ev in end.evidence)


def _judge(spec: Spec, attempt: Attempt, ended: Ended, telling: Finding | None) -> tuple[Ending, Failure | None]:
    """
    Ending and failure of the attempt; `telling` is the strongest finding that says anything.
    """
    stop = attempt.stop
    if telling is not None and telling.ending is Ending.SUCCEEDED:
        by_receipt = telling.rank is Rank.RECEIPT
        if ended.stopped and stop is None and not by_receipt:
            message = "it ended after somebody else asked it to stop, and left no receipt of completed work"
            return Ending.FAILED, Failure.of(FailureClass.CANCELLED_OUTSIDE, "stopped_outside", message)
        if by_receipt or not ended.stopped:
            if spec.receipt == "required" and not by_receipt:
                message = "it ended well by its exit status but left no receipt, and the spec requires one"
                return Ending.FAILED, Failure.of(FailureClass.UNKNOWN, "receipt_missing", message)
            return Ending.SUCCEEDED, None
    if stop is not None and _explains(stop, attempt, spec, ended, telling):
        return _stopped(stop.cause)
    if telling is None:
        told = next((f.failure for f in ended.findings if f.failure is not None), None)
        return Ending.UNKNOWN, told or Failure.of(FailureClass.UNKNOWN, "no_evidence", "nothing tells how it ended")
    return Ending.FAILED, _failure(spec, telling)


def _explains(stop: Stop, attempt: Attempt, spec: Spec, ended: Ended, telling: Finding | None) -> bool:
    """
    Whether our stop is why it ended: the engine says the stop had reached it, or nothing of it ever ran.
    """
    if stop.cause is StopCause.DEADLINE and spec.deadline_s is not None:
        began = attempt.started_at or ended.started_at
        if began and ended.ended_at and ended.ended_at <= began + timedelta(seconds=spec.deadline_s):
            return False
    return ended.stopped or telling is None or telling.ending is Ending.NEVER_RAN


def _stopped(cause: StopCause) -> tuple[Ending, Failure | None]:
    if cause in _STOPPED:
        return _STOPPED[cause], None
    failure_class, code, message, retryable = _STOP_FAILURES[cause]
    return Ending.FAILED, Failure.of(failure_class, code, message, retryable=retryable)


def _failure(spec: Spec, telling: Finding) -> Failure:
    """
    The job's own rules first, then the engine's word.
    """
    seen = telling.symptoms
    if seen is not None:
        failure_class = spec.exit_codes.get(str(seen.exit_code))
        if failure_class is not None:
            return Failure.of(failure_class, f"exit_{seen.exit_code}", seen.headline, rule="spec/exit_codes")
        own = classify(spec.failure_rules, seen)
        if own.rule is not None:
            return own
    if telling.failure is not None:
        return telling.failure
    if telling.ending is Ending.TERMINATED:
        return Failure.of(FailureClass.CANCELLED_OUTSIDE, "terminated", "it was told to stop, and not by us")
    if telling.ending is Ending.NEVER_RAN:
        message = "it was claimed but no user code ran"
        return Failure.of(FailureClass.SUBMISSION_REFUSED, "never_ran", message, retryable=True, free=True)
    return Failure.of(FailureClass.UNKNOWN, "unclassified", seen.headline if seen else "no message")


def _kept(finding: Finding, telling: Finding | None, now: datetime) -> Evidence:
    if finding.ending is Ending.UNKNOWN or telling is None:
        verdict = Verdict.UNKNOWN
    else:
        agrees = (finding.ending is Ending.SUCCEEDED) == (telling.ending is Ending.SUCCEEDED)
        verdict = Verdict.PROVEN if agrees else Verdict.REFUTED
    detail = finding.ending.value
    if finding.symptoms is not None:
        detail = f"{detail}: {finding.symptoms.headline}"
    return Evidence(
        claim="outcome",
        verdict=verdict,
        source=finding.source,
        at=now,
        rank=finding.rank,
        detail=detail,
        raw=finding.raw,
        blob=finding.blob,
    )
