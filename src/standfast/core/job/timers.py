"""
When a job must be looked at though nothing was heard, and whether a wait has lasted too long.

Time without a control plane is not held against a job: waits are measured less the outages that overlap them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from standfast.core.job.cleanup import next_removal
from standfast.core.job.inputs import Outage
from standfast.core.job.state import Job, Phase

LAUNCH_ANSWER_S = 15.0
"""A launch whose answer is not stored after this long is looked for."""

STOP_REPEAT_S = 5.0
"""How often a stop is repeated until its end is confirmed; the engine counts the grace from the first."""

STOP_PATIENCE_S = 30.0
"""Beyond the grace: after this long without confirmation the job becomes uncertain (and is still being stopped)."""

LOOK_AGAIN_MIN_S, LOOK_AGAIN_MAX_S = 1.0, 60.0
"""Bounds of the wait between two looks at an uncertain job, which grows with the age of the doubt."""


def waited_s(since: datetime, now: datetime, outages: Sequence[Outage]) -> float:
    """
    Seconds from `since` to `now` in which a control plane was there to act; never negative.
    """
    total = (now - since).total_seconds()
    for outage in outages:
        begin, end = max(outage.begin, since), min(outage.end, now)
        total -= max(0.0, (end - begin).total_seconds())
    return max(0.0, total)


def past_deadline(job: Job, now: datetime) -> bool:
    """
    Whether the running attempt, by the engine's own start time, has used up its deadline.
    """
    began = job.attempt.started_at or job.attempt.seen_at
    return (
        job.spec.deadline_s is not None and began is not None and now >= began + timedelta(seconds=job.spec.deadline_s)
    )


def past_start_deadline(job: Job, now: datetime, outages: Sequence[Outage]) -> bool:
    """
    Whether the launching attempt has waited longer for its first sign of life than its spec allows.
    """
    limit_s = job.spec.start_deadline_s
    return limit_s is not None and waited_s(job.attempt.begun_at, now, outages) >= limit_s


def past_stop_patience(job: Job, now: datetime) -> bool:
    """
    Whether a stop has gone unconfirmed for longer than its grace plus our patience, counted from entering the phase.
    """
    return (now - job.phase_since).total_seconds() >= job.spec.stop_grace_s + STOP_PATIENCE_S


def past_backoff(job: Job, now: datetime) -> bool:
    """
    Whether the wait between two attempts is over; also if the clock was set back behind its beginning.
    """
    elapsed_s = (now - job.phase_since).total_seconds()
    return elapsed_s >= (job.backoff_s or 0.0) or elapsed_s < 0


def wake_at(job: Job, now: datetime) -> datetime | None:
    """
    The next instant at which time alone may move the job; None if none ever will.
    """
    match job.phase:
        case Phase.QUEUED:
            return job.spec.start_at if job.spec.start_at and job.spec.start_at > now else None
        case Phase.LAUNCHING:
            overdue = job.attempt.sent_at + timedelta(seconds=LAUNCH_ANSWER_S)
            if job.attempt.seen_at is not None or overdue <= now:
                overdue = now + timedelta(seconds=LAUNCH_ANSWER_S)
            if job.spec.start_deadline_s is None:
                return overdue
            deadline = job.attempt.begun_at + timedelta(seconds=job.spec.start_deadline_s)
            # Past it and still launching: an outage is being left out of the wait, so ask again soon.
            return min(overdue, deadline if deadline > now else now + timedelta(seconds=LOOK_AGAIN_MIN_S))
        case Phase.RUNNING:
            began = job.attempt.started_at or job.attempt.seen_at
            if job.spec.deadline_s is None or began is None:
                return None
            return began + timedelta(seconds=job.spec.deadline_s)
        case Phase.STOPPING if now == job.phase_since:
            # Just asked for: whoever reads the row next must act, also after a crash right here.
            return now
        case Phase.STOPPING:
            return now + timedelta(seconds=STOP_REPEAT_S)
        case Phase.BACKING_OFF:
            return job.phase_since + timedelta(seconds=job.backoff_s or 0.0)
        case Phase.SUSPENDED:
            return None
        case Phase.UNCERTAIN:
            age_s = (now - job.phase_since).total_seconds()
            return now + timedelta(seconds=min(LOOK_AGAIN_MAX_S, max(LOOK_AGAIN_MIN_S, age_s / 2)))
        case Phase.SUCCEEDED | Phase.FAILED | Phase.CANCELLED:
            due = next_removal(job)
            return None if due is None else due.at
