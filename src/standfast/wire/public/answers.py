"""
What callers get. Answers may grow: whoever reads them takes what they do not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec

from standfast.core.failure import Failure
from standfast.core.job.attempt import Stop
from standfast.core.job.explain import Move, Next, Why
from standfast.core.job.spec import Resources, Spec
from standfast.core.job.state import Outcome, Phase


class _Answer(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """
    Base of what we answer.
    """


class AttemptRef(_Answer, frozen=True, gc=False, kw_only=True):
    """
    The latest attempt in short: its number, how many runs there may be, its handle on the engine.
    """

    number: int
    max: int
    handle: str
    engine_ref: str | None
    exit_code: int | None


class JobAnswer(_Answer, frozen=True, gc=False, kw_only=True):
    """
    A job as of one revision; phase is ours, engine_status the engine's own word, outcome the final verdict.
    """

    kind: Literal["job"]
    uid: str
    name: str
    namespace: str
    labels: Mapping[str, str]
    engine: str
    queue: str
    priority: int
    revision: int
    request_id: str
    spec_digest: str
    spec: Spec
    retry_of: str | None
    phase: Phase
    phase_since: datetime
    outcome: Outcome | None
    engine_status: str | None
    why: Why
    next: Next | None
    moves: tuple[Move, ...]
    attempt: AttemptRef | None
    created_at: datetime
    created_by: str
    updated_at: datetime
    finished_at: datetime | None


class JobPage(_Answer, frozen=True, gc=False, kw_only=True):
    """
    Jobs, newest first; next_page_token None at the end; watch_cursor: no event after it is in this page.
    """

    items: list[JobAnswer]
    next_page_token: str | None
    watch_cursor: str


class PartialJobPage(_Answer, frozen=True, gc=False, kw_only=True):
    """
    As `JobPage`, each job cut down to the fields that were asked for; a path such as `why.reason` is its own key.
    """

    items: list[dict[str, Any]]
    next_page_token: str | None
    watch_cursor: str


class AttemptAnswer(_Answer, frozen=True, gc=False, kw_only=True):
    """
    One try: what we decided, what the engine said, how it ended.
    """

    number: int
    handle: str
    incarnation: str
    sends: int
    begun_at: datetime
    seen_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    closed_at: datetime | None
    engine_status: str | None
    engine_ref: str | None
    engine_note: str | None
    resources: Resources
    mitigation: str | None
    stop: Stop | None
    ending: str | None
    failure: Failure | None
    evidence: tuple[EvidenceAnswer, ...]


class EvidenceAnswer(_Answer, frozen=True, gc=False, kw_only=True):
    """
    One claim, how it stands, where that comes from, and when it was seen.
    """

    attempt: int
    claim: str
    verdict: str
    source: str
    at: datetime
    rank: str | None
    detail: str | None
    raw: str | None
    blob: str | None


class Attempts(_Answer, frozen=True, gc=False, kw_only=True):
    """
    Every attempt, oldest first.
    """

    items: list[AttemptAnswer]


class EvidenceList(_Answer, frozen=True, gc=False, kw_only=True):
    """
    Every piece of evidence of every attempt, in the order it was found.
    """

    items: list[EvidenceAnswer]


class EventAnswer(_Answer, frozen=True, gc=False, kw_only=True):
    """
    One event; seq is global and grows, revision is the job's after it.
    """

    seq: int
    uid: str
    namespace: str
    revision: int
    at: datetime
    actor: str
    type: str
    data: Mapping[str, Any]


class EventPage(_Answer, frozen=True, gc=False, kw_only=True):
    """
    Events in the order of their numbers; next_cursor: where to go on.
    """

    items: list[EventAnswer]
    next_cursor: str


class Explanation(_Answer, frozen=True, gc=False, kw_only=True):
    """
    Why a job is as it is, what is known, what comes next, and what would settle a doubt.
    """

    uid: str
    name: str
    phase: Phase
    why: Why
    next: Next | None
    moves: tuple[Move, ...]
    known: list[str]
    settles: tuple[str, ...]


class PlanAnswer(_Answer, frozen=True, gc=False, kw_only=True):
    """
    What a submission would do: nothing was stored or sent. engine_call is exact, values of the environment masked.
    """

    job: JobAnswer
    handle: str
    engine_call: Mapping[str, Any]


class BatchItem(_Answer, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """
    What became of one job of a batch: its uid, or the problem.
    """

    status: int
    uid: str | None = None
    revision: int | None = None
    replayed: bool = False
    problem: Mapping[str, Any] | None = None


class BatchAnswer(_Answer, frozen=True, gc=False, kw_only=True):
    """
    One item per job given, in the same order.
    """

    items: list[BatchItem]


class Count(_Answer, frozen=True, gc=False, kw_only=True):
    """
    How many jobs share these values; a value that was not asked for is null.
    """

    namespace: str | None
    engine: str | None
    queue: str | None
    phase: Phase | None
    count: int


class Counts(_Answer, frozen=True, gc=False, kw_only=True):
    """
    Kept counters, never a scan.
    """

    items: list[Count]


class EngineAnswer(_Answer, frozen=True, gc=False, kw_only=True):
    """
    One engine: what it can do, its slots, and whether it answers. incarnation: its present life.
    """

    name: str
    capabilities: list[str]
    slots: int
    active: int
    queued: int
    reachable: bool
    incarnation: str | None
    trouble: str | None


class Engines(_Answer, frozen=True, gc=False, kw_only=True):
    """
    Every engine of this control plane.
    """

    items: list[EngineAnswer]


class Check(_Answer, frozen=True, gc=False, kw_only=True):
    """
    One self-check; hint: what to do about a bad one.
    """

    name: str
    ok: bool
    message: str
    hint: str | None


class Doctor(_Answer, frozen=True, gc=False, kw_only=True):
    """
    Every self-check; ok: none found trouble.
    """

    ok: bool
    checks: list[Check]
