"""
The control plane's answers as this client reads them: every word open, so that a newer server is understood.

Belongs here: shapes of answers, with a default for whatever may be missing; unknown fields are ignored, and words such
as phases and reasons are plain text. Not here: shapes of requests, or the server's own models (`wire.public`), with
which a test compares these.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec


class _Answer(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=False):
    """
    Base of them all.
    """


class Why(_Answer, frozen=True, gc=False, kw_only=True):
    """
    The reason for a phase; needs: `nothing`, `proof`, `approval` or `person`.
    """

    reason: str
    message: str
    since: datetime
    needs: str = "nothing"


class Next(_Answer, frozen=True, gc=False, kw_only=True):
    """
    What the control plane does next, and when if that is known.
    """

    action: str
    at: datetime | None = None


class Move(_Answer, frozen=True, gc=False, kw_only=True):
    """
    One verb, whether it is allowed now, and if not, why not.
    """

    verb: str
    allowed: bool
    why: str | None = None


class AttemptRef(_Answer, frozen=True, gc=False, kw_only=True):
    """
    The latest attempt in short: its number, how many there may be, and its handle on the engine.
    """

    number: int
    max: int
    handle: str
    engine_ref: str | None = None
    exit_code: int | None = None


class Evidence(_Answer, frozen=True, gc=False, kw_only=True):
    """
    One claim with how it stands, where that comes from, and when it was seen.
    """

    claim: str
    verdict: str
    source: str
    at: datetime
    attempt: int | None = None
    rank: str | None = None
    detail: str | None = None
    raw: str | None = None
    blob: str | None = None


class Failure(_Answer, frozen=True, gc=False, kw_only=True):
    """
    Why an attempt failed.
    """

    failure_class: str = "unknown"
    code: str = ""
    message: str = ""
    retryable: bool = False
    free: bool = False
    rule: str | None = None
    suggestion: str | None = None


class Attempt(_Answer, frozen=True, gc=False, kw_only=True):
    """
    One try at the job: what was decided, what the engine said, how it ended.
    """

    number: int
    handle: str
    incarnation: str = ""
    sends: int = 1
    seen_at: datetime | None = None
    stop: Mapping[str, Any] | None = None
    evidence: tuple[Evidence, ...] = ()
    ending: str | None = None
    engine_status: str | None = None
    engine_ref: str | None = None
    engine_note: str | None = None
    begun_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    closed_at: datetime | None = None
    mitigation: str | None = None
    failure: Failure | None = None
    resources: Mapping[str, Any] = {}


class Job(_Answer, frozen=True, gc=False, kw_only=True):
    """
    A job as of one revision.
    """

    uid: str
    name: str
    namespace: str
    revision: int
    phase: str
    why: Why
    created_at: datetime
    kind: str = "job"
    labels: Mapping[str, str] = {}
    engine: str = ""
    queue: str = "default"
    priority: int = 0
    spec: Mapping[str, Any] = {}
    spec_digest: str | None = None
    request_id: str | None = None
    retry_of: str | None = None
    outcome: str | None = None
    engine_status: str | None = None
    next: Next | None = None
    moves: tuple[Move, ...] = ()
    attempt: AttemptRef | None = None
    created_by: str = ""
    updated_at: datetime | None = None
    phase_since: datetime | None = None
    finished_at: datetime | None = None


class JobPage(_Answer, frozen=True, gc=False, kw_only=True):
    """
    One page of jobs, and where to watch from so that nothing after it is missed.
    """

    items: list[Job]
    next_page_token: str | None = None
    watch_cursor: str | None = None


class Event(_Answer, frozen=True, gc=False, kw_only=True):
    """
    Something that happened to a job: `type` names it, `data` holds what it says.
    """

    seq: int
    uid: str
    type: str
    at: datetime
    actor: str = ""
    namespace: str = ""
    revision: int = 0
    data: Mapping[str, Any] = {}


class EventPage(_Answer, frozen=True, gc=False, kw_only=True):
    """
    Events in the order of their numbers.
    """

    items: list[Event]
    next_cursor: str | None = None


class AttemptList(_Answer, frozen=True, gc=False, kw_only=True):
    """
    Every attempt, oldest first.
    """

    items: list[Attempt]


class EvidenceList(_Answer, frozen=True, gc=False, kw_only=True):
    """
    Every piece of evidence, in the order it was found.
    """

    items: list[Evidence]


class Explanation(_Answer, frozen=True, gc=False, kw_only=True):
    """
    The reasoning about a job: why, what is known, and what would settle the rest.
    """

    uid: str
    name: str
    phase: str
    why: Why
    next: Next | None = None
    moves: tuple[Move, ...] = ()
    known: tuple[str, ...] = ()
    settles: tuple[str, ...] = ()


class Plan(_Answer, frozen=True, gc=False, kw_only=True):
    """
    What a submission would do; engine_call is exactly what would be sent, secrets masked.
    """

    engine_call: Mapping[str, Any]
    job: Job | None = None
    handle: str | None = None
