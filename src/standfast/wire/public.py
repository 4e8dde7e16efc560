"""
REST v1: what goes over the wire to people and programs outside, and how it is made from the core.

Belongs here: shapes of requests and answers, pure conversions. Not here: HTTP, or anything the core does not know.
Requests refuse unknown fields; answers may grow, and clients must take what they do not know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec

from standfast.core.failure import Failure
from standfast.core.job import explain
from standfast.core.job.attempt import Attempt, Stop
from standfast.core.job.evidence import Evidence
from standfast.core.job.explain import Move, Next, Waiting, Why
from standfast.core.job.spec import Resources, Spec
from standfast.core.job.state import Job, Outcome, Phase
from standfast.ports.store import Slot, StoredEvent


class _Request(msgspec.Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """
    Base of what callers send.
    """


class SubmitBody(_Request, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """
    One job to accept. request_id: the same as the Idempotency-Key header.
    """

    name: str
    spec: Spec
    namespace: str = "default"
    labels: dict[str, str] = {}
    request_id: str | None = None


class BatchBody(_Request, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """
    Jobs to accept with one flush to disk, each by itself; at most 1,000.
    """

    jobs: list[SubmitBody]


class ReasonBody(_Request, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """
    Why someone asks for it, for the record.
    """

    reason: str | None = None


class RetryBody(_Request, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """
    set: a JSON merge patch (RFC 7396) to the finished job's spec.
    """

    set: dict[str, Any] = {}
    request_id: str | None = None


class ResolveBody(_Request, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """
    A person's word on an uncertain job, with what it rests on; `done` also says how it ended.
    """

    answer: Literal["absent", "present", "done"]
    because: str
    outcome: Outcome | None = None


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


def to_job(job: Job, waiting: Waiting | None = None) -> JobAnswer:
    """
    The job as everyone sees it.
    """
    attempt = job.attempts[-1] if job.attempts else None
    return JobAnswer(
        kind="job",
        uid=job.uid,
        name=job.name,
        namespace=job.namespace,
        labels=job.labels,
        engine=job.spec.engine,
        queue=job.spec.queue,
        priority=job.spec.priority,
        revision=job.revision,
        request_id=job.request_id,
        spec_digest=job.digest,
        spec=job.spec,
        retry_of=job.retry_of,
        phase=job.phase,
        phase_since=job.phase_since,
        outcome=job.outcome,
        engine_status=attempt.engine_status if attempt else None,
        why=explain.why(job, waiting),
        next=explain.next_of(job),
        moves=explain.moves(job),
        attempt=None if attempt is None else _reference(job, attempt),
        created_at=job.created_at,
        created_by=job.created_by,
        updated_at=job.updated_at,
        finished_at=job.finished_at,
    )


def to_attempt(job: Job, attempt: Attempt) -> AttemptAnswer:
    """
    One attempt of the job in full.
    """
    return AttemptAnswer(
        number=attempt.number,
        handle=attempt.handle,
        incarnation=attempt.incarnation,
        sends=attempt.sends,
        begun_at=attempt.begun_at,
        seen_at=attempt.seen_at,
        started_at=attempt.started_at,
        ended_at=attempt.ended_at,
        closed_at=attempt.closed_at,
        engine_status=attempt.engine_status,
        engine_ref=attempt.engine_ref,
        resources=attempt.resources,
        mitigation=attempt.mitigation,
        stop=attempt.stop,
        ending=attempt.ending,
        failure=attempt.failure,
        evidence=tuple(to_evidence(attempt.number, one) for one in evidence_of(job, attempt)),
    )


def evidence_of(job: Job, attempt: Attempt) -> tuple[Evidence, ...]:
    """
    The attempt's evidence, with what is known of an end that is still in doubt.
    """
    if attempt is job.attempts[-1] and job.uncertain is not None and job.uncertain.end is not None:
        return (*attempt.evidence, *job.uncertain.end.evidence)
    return attempt.evidence


def to_evidence(number: int, evidence: Evidence) -> EvidenceAnswer:
    """
    One piece of evidence of attempt `number`.
    """
    return EvidenceAnswer(
        attempt=number,
        claim=evidence.claim,
        verdict=evidence.verdict,
        source=evidence.source,
        at=evidence.at,
        rank=None if evidence.rank is None else evidence.rank.name.lower(),
        detail=evidence.detail,
        raw=evidence.raw,
        blob=evidence.blob,
    )


def to_event(stored: StoredEvent) -> EventAnswer:
    """
    One event; what it says is `data`, its kind `type`.
    """
    data = msgspec.to_builtins(stored.event)
    kind = data.pop("type")
    data.pop("spec", None)
    return EventAnswer(
        seq=stored.seq,
        uid=stored.uid,
        namespace=stored.namespace,
        revision=stored.revision,
        at=stored.at,
        actor=stored.actor,
        type=kind,
        data=data,
    )


def to_explanation(job: Job, waiting: Waiting | None = None) -> Explanation:
    """
    The reasoning about the job.
    """
    return Explanation(
        uid=job.uid,
        name=job.name,
        phase=job.phase,
        why=explain.why(job, waiting),
        next=explain.next_of(job),
        moves=explain.moves(job),
        known=list(_known(job)),
        settles=explain.settles(job),
    )


def to_text(told: Explanation) -> str:
    """
    The explanation as plain text, for terminals and curl.
    """
    lines = [f"{told.name} ({told.uid}) is {told.phase}: {told.why.reason}", f"  {told.why.message}"]
    if told.next is not None:
        at = f" at {told.next.at.isoformat()}" if told.next.at else ""
        lines.append(f"Next: {told.next.action}{at}")
    if told.known:
        lines += ["What is known:", *(f"  - {fact}" for fact in told.known)]
    if told.settles:
        lines += ["What would settle it:", *(f"  {n}. {fact}" for n, fact in enumerate(told.settles, 1))]
    allowed = ", ".join(move.verb for move in told.moves if move.allowed)
    lines.append(f"Moves: {allowed or 'none'}")
    return "\n".join(lines) + "\n"


def to_counts(slots: Sequence[Slot], by: Sequence[str]) -> Counts:
    """
    The kept counters added up over whatever is not in `by`.
    """
    sums: dict[tuple[Any, ...], int] = {}
    names = ("namespace", "engine", "queue", "phase")
    for slot in slots:
        key = tuple(getattr(slot, name) if name in by else None for name in names)
        sums[key] = sums.get(key, 0) + slot.count
    items = [Count(**dict(zip(names, key, strict=True)), count=count) for key, count in sums.items()]
    return Counts(items=sorted(items, key=lambda c: tuple(str(getattr(c, name)) for name in names)))


def _known(job: Job) -> Sequence[str]:
    """
    The facts on record, oldest first, at most the last twelve.
    """
    facts: list[str] = []
    for attempt in job.attempts:
        stored_at = attempt.begun_at.isoformat()
        sent = f"attempt {attempt.number}, handle {attempt.handle}, stored {stored_at} before it was sent"
        facts.append(sent + (f" {attempt.sends} times" if attempt.sends > 1 else ""))
        if attempt.seen_at is not None:
            facts.append(f"attempt {attempt.number} was seen by the engine as {attempt.engine_status or 'present'}")
        facts += [
            f"attempt {attempt.number}: {one.claim} {one.verdict} by {one.source}"
            + (f" ({one.detail})" if one.detail else "")
            for one in evidence_of(job, attempt)
        ]
    return facts[-12:]


def _reference(job: Job, attempt: Attempt) -> AttemptRef:
    exit_code = None
    word, _, number = (attempt.engine_status or "").partition(" ")
    if attempt.closed_at is not None and number.isdecimal():
        exit_code = {"exited": int(number), "signaled": 128 + int(number)}.get(word)
    return AttemptRef(
        number=attempt.number,
        max=job.spec.retry.max_attempts,
        handle=attempt.handle,
        engine_ref=attempt.engine_ref,
        exit_code=exit_code,
    )
