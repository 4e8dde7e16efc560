"""
From the core to what callers get; pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from standfast.core.job import explain
from standfast.core.job.attempt import Attempt
from standfast.core.job.evidence import Evidence
from standfast.core.job.explain import Waiting
from standfast.core.job.state import Job
from standfast.ports.store import Slot, StoredEvent
from standfast.wire.public.answers import (
    AttemptAnswer,
    AttemptRef,
    Count,
    Counts,
    EventAnswer,
    EvidenceAnswer,
    Explanation,
    JobAnswer,
)


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
        engine_note=attempt.engine_note,
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
