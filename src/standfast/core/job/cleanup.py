"""
What of a finished job goes, and when: a total function of (outcome, attempts, policy).

Three remainders with three times to live; a record goes only after its logs and compute, so that nothing is left
that nobody remembers.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from standfast.core.job.inputs import Remainder
from standfast.core.job.spec import Ttl
from standfast.core.job.state import Job


class Removal(msgspec.Struct, frozen=True, gc=False):
    """
    Remove `what`, not before `at`.
    """

    what: Remainder
    at: datetime


_KEEP = Ttl()


def next_removal(job: Job) -> Removal | None:
    """
    The next remainder to remove and when; None while the job is unfinished, or if everything else is kept.
    """
    if job.finished_at is None:
        return None
    ttl, end = job.spec.ttl, job.finished_at
    if ttl == _KEEP:
        return None
    record_at = _after(end, ttl.record_s)
    due: list[Removal] = []
    if job.attempts and job.compute_removed_at is None:
        _add(due, Remainder.COMPUTE, _earliest(_after(end, ttl.compute_s), record_at))
    if job.attempts and job.logs_removed_at is None:
        _add(due, Remainder.LOGS, _earliest(_after(end, ttl.logs_s), record_at))
    if not due:
        _add(due, Remainder.RECORD, record_at)
    return min(due, key=lambda removal: (removal.at, list(Remainder).index(removal.what)), default=None)


def _after(end: datetime, ttl_s: float | None) -> datetime | None:
    return None if ttl_s is None else end + timedelta(seconds=ttl_s)


def _earliest(first: datetime | None, second: datetime | None) -> datetime | None:
    given = [at for at in (first, second) if at is not None]
    return min(given, default=None)


def _add(due: list[Removal], what: Remainder, at: datetime | None) -> None:
    if at is not None:
        due.append(Removal(what, at))
