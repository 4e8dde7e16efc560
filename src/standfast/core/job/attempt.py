"""
One try at a job: numbered from 1, named by its handle, never overwritten.
"""

from __future__ import annotations

import re
from datetime import datetime
from enum import StrEnum

import msgspec

from standfast.core.failure import Failure
from standfast.core.job.evidence import Ending, Evidence
from standfast.core.job.spec import Resources

_HANDLE = re.compile(r"sf-([a-z0-9]+)-([1-9][0-9]*)")

EVIDENCE_MAX = 32
"""Pieces of evidence kept per attempt, so that a flapping engine cannot grow a job without bound."""


def handle_of(uid: str, number: int) -> str:
    """
    The name an engine knows attempt `number` of job `uid` by: `[a-z0-9-]`, at most 63 characters, the same every time.
    """
    return f"sf-{uid.removeprefix('job_')}-{number}"


def uid_and_number(handle: str) -> tuple[str, int] | None:
    """
    The job uid and attempt number that `handle_of` made the handle from; None for a name that is not ours.
    """
    match = _HANDLE.fullmatch(handle)
    return (f"job_{match[1]}", int(match[2])) if match else None


class StopCause(StrEnum):
    """
    Why an attempt is being stopped; decides what follows once its death is confirmed.
    """

    CANCEL = "cancel"
    SUSPEND = "suspend"
    DEADLINE = "deadline"
    START_DEADLINE = "start_deadline"
    LOST = "lost"


class Stop(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """
    A stop that was asked for; stays with the attempt, because it explains its end.
    """

    cause: StopCause
    asked_at: datetime
    by: str
    reason: str | None = None


class Attempt(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """
    What we decided for this try, what the engine said of it, and how it ended.

    incarnation: the engine's life in which the handle was sent; absence in another life proves nothing. begun_at,
    sent_at: first and latest crossing of the write boundary; sends counts them. seen_at: first sign of it. started_at,
    ended_at: the engine's times. engine_note: what the engine added to its latest word, such as the pids of an orphan.
    contact_lost_at: since when the engine has not answered about it.
    """

    number: int
    handle: str
    incarnation: str
    begun_at: datetime
    sent_at: datetime
    sends: int = 1
    resources: Resources = Resources()
    mitigation: str | None = None
    seen_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    closed_at: datetime | None = None
    engine_status: str | None = None
    engine_ref: str | None = None
    engine_note: str | None = None
    contact_lost_at: datetime | None = None
    contact_lost_because: str | None = None
    stop: Stop | None = None
    ending: Ending | None = None
    failure: Failure | None = None
    evidence: tuple[Evidence, ...] = ()


class AttemptEnd(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """
    The decided end of an attempt, with all that was known when it was decided.
    """

    ending: Ending
    failure: Failure | None = None
    engine_status: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    evidence: tuple[Evidence, ...] = ()
