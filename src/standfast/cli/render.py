"""
Jobs, attempts, events and plans as text for people; the times come in from outside, so the text can be tested.

Belongs here: which words stand where. Not here: machine formats (`output`), glyphs and colours (`style`).
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from standfast.cli import table
from standfast.cli.manual import in_words, meaning
from standfast.cli.style import Style
from standfast.cli.terminal import inert
from standfast.cli.times import age, clock_time, full_time, span

if TYPE_CHECKING:
    from standfast.client import JobView, answers

JOB_COLUMNS = ("NAME", "UID", "ENGINE", "PHASE", "TRY", "AGE", "WHY", "NEXT")
WIDE_COLUMNS = ("NAME", "UID", "NAMESPACE", "ENGINE", "PHASE", "SINCE", "TRY", "AGE", "HANDLE", "LABELS", "WHY", "NEXT")
CALM = ("Running", "Succeeded", "Starting")
"""Reasons that a phase already says; a table shows `-` for them."""


def jobs_table(
    style: Style,
    jobs: Sequence[answers.Job],
    now: datetime,
    *,
    wide: bool = False,
    fit: int | None = None,
    utc: bool = False,
) -> list[str]:
    """
    One line a job under a header, fitted to the terminal by cutting WHY and NEXT, never NAME or PHASE.
    """
    header = WIDE_COLUMNS if wide else JOB_COLUMNS
    rows = []
    for job in jobs:
        cells = _job_cells(style, job, now, utc=utc)
        rows.append([cells[title] for title in header])
    return table.columns(header, rows, fit=fit, cut=("WHY", "NEXT") if not wide else ())


def _job_cells(style: Style, job: answers.Job, now: datetime, *, utc: bool) -> dict[str, str]:
    attempt = job.attempt
    return {
        "NAME": inert(job.name),
        "UID": job.uid,
        "NAMESPACE": inert(job.namespace),
        "ENGINE": inert(job.engine),
        "PHASE": style.state(job.phase),
        "SINCE": age(job.why.since, now),
        "TRY": f"{attempt.number if attempt else 0}/{_tries(job)}",
        "AGE": age(job.created_at, now),
        "HANDLE": attempt.handle if attempt else "-",
        "LABELS": inert(",".join(f"{k}={v}" for k, v in job.labels.items())) or "-",
        "WHY": _short_why(job),
        "NEXT": _short_next(job, now, utc=utc),
    }


def _short_why(job: answers.Job) -> str:
    if job.why.reason in CALM:
        return "-"
    return inert(f"{job.why.reason}: {job.why.message}")


def _short_next(job: answers.Job, now: datetime, *, utc: bool) -> str:
    if job.next is None or job.why.reason in CALM:
        return "-"
    return inert(job.next.action) + (f" {clock_time(job.next.at, now, utc=utc)}" if job.next.at else "")


def _tries(job: answers.Job) -> int:
    if job.attempt is not None:
        return job.attempt.max
    retry = job.spec.get("retry") or {}
    return int(retry.get("max_attempts", 1))


def change_line(style: Style, job: answers.Job, now: datetime, *, utc: bool = False) -> str:
    """
    One line for a job that something happened to.
    """
    why = _short_why(job)
    told = f"  {why}" if why != "-" else ""
    return f"{clock_time(now, now, utc=utc)}  {style.state(job.phase)}  {inert(job.name)}  {job.uid}{told}"


def jobs_footer(jobs: Sequence[answers.Job], *, more: bool, cursor: str | None) -> str:
    """
    How many are shown, how many of them need attention, and as of when.
    """
    parts = [f"{len(jobs)} shown" + (", more with --all" if more else "")]
    unsure = sum(job.phase == "uncertain" for job in jobs)
    persons = sum(job.why.needs == "person" for job in jobs)
    if unsure:
        parts.append(f"{unsure} unsure")
    if persons:
        parts.append(f"{persons} wait for a person")
    if cursor:
        parts.append(f"as of event {cursor}")
    return " · ".join(parts)


def attempts_table(style: Style, attempts: Sequence[answers.Attempt], now: datetime, *, fit: int | None) -> list[str]:
    """
    One line an attempt, oldest first.
    """
    header = ("ATTEMPT", "HANDLE", "ENDED", "LAUNCHED", "TOOK", "ENGINE SAYS", "FAILURE")
    rows = [
        [
            str(a.number),
            a.handle,
            a.ending or "-",
            clock_time(a.begun_at, now),
            _took(a, now),
            inert(a.engine_status or "-"),
            _failure(a),
        ]
        for a in attempts
    ]
    return table.columns(header, rows, fit=fit, cut=("FAILURE",))


def _took(attempt: answers.Attempt, now: datetime) -> str:
    start = attempt.started_at or attempt.begun_at
    if start is None:
        return "-"
    end = attempt.ended_at or attempt.closed_at or now
    return span((end - start).total_seconds())


def _failure(attempt: answers.Attempt) -> str:
    if attempt.failure is None:
        return "-"
    return inert(f"{attempt.failure.failure_class} ({attempt.failure.code}): {attempt.failure.message}")


def describe(
    style: Style,
    job: answers.Job,
    attempts: Sequence[answers.Attempt],
    evidence: Sequence[answers.Evidence],
    events: Sequence[answers.Event],
    now: datetime,
    *,
    utc: bool = False,
) -> Iterator[str]:
    """
    One screen about a job: phase, why, next, moves, attempts, evidence, latest events.
    """

    def at(when: datetime | None) -> str:
        return clock_time(when, now, utc=utc)

    labels = "".join(f" · {k}={v}" for k, v in job.labels.items())
    head = f"{style.glyph(job.phase)} {inert(job.name)} - {inert(job.engine)} job"
    yield f"{style.paint(head, job.phase)}    {job.uid}   namespace {inert(job.namespace)}{inert(labels)}"
    since = f"since {at(job.why.since)} ({age(job.why.since, now)})"
    yield f"     Phase: {job.phase.replace('_', ' ')} {since}   Outcome: {job.outcome or '-'}"
    yield f"    Engine: {_engine_says(job, attempts, events, now, at)}"
    yield f"       Why: {inert(job.why.reason)}. {inert(job.why.message)}"
    if job.next is not None:
        yield f"      Next: {inert(job.next.action)}" + (f" at {at(job.next.at)}" if job.next.at else "")
    allowed = ", ".join(move.verb for move in job.moves if move.allowed) or "none"
    yield f"     Moves: {allowed}"
    by = f"by {inert(job.created_by or '-')}, {full_time(job.created_at, utc=utc)}"
    yield f"   Request: {inert(job.request_id or '-')} ({(job.spec_digest or '-')[:19]})   {by}"
    if job.retry_of:
        yield f"  Retry of: {job.retry_of}"
    yield f"   Program: {inert(_program(job.spec))}"
    for title, lines in (
        ("Attempts", [_attempt_line(style, a, at) for a in reversed(attempts)]),
        ("Evidence", [_evidence_line(style, e, at) for e in evidence[-12:]]),
    ):
        for index, line in enumerate(lines or ["none yet"]):
            yield f"{title if index == 0 else '':>10}{':' if index == 0 else ' '} {line}"
    if events:
        latest = " · ".join(f"{at(e.at)} {e.type}" for e in reversed(events[-3:]))
        yield f"    Events: {latest}   (standfast events {job.uid})"


def _engine_says(
    job: answers.Job,
    attempts: Sequence[answers.Attempt],
    events: Sequence[answers.Event],
    now: datetime,
    at: Callable[[datetime | None], str],
) -> str:
    """
    The engine's latest word with its note, and since when it has said so: an old word is no news.
    """
    if job.engine_status is None:
        return "says nothing about it yet" if attempts else "has not been asked"
    said = inert(
        f"says {job.engine_status}"
        + (f", {attempts[-1].engine_note}" if attempts[-1:] and attempts[-1].engine_note else "")
    )
    heard = next((e.at for e in reversed(events) if job.engine_status == word_in(e)), None)
    return said if heard is None else f"{said}, as of {at(heard)} ({age(heard, now)} ago)"


def word_in(event: answers.Event) -> str | None:
    """
    The engine's word that an event brought, if it brought one.
    """
    told = event.data.get("engine_status")
    end = event.data.get("end")
    if told is None and isinstance(end, Mapping):
        told = end.get("engine_status")
    return None if told is None else str(told)


def _attempt_line(style: Style, attempt: answers.Attempt, at: Any) -> str:
    ended = f"–{at(attempt.ended_at or attempt.closed_at)}" if attempt.ending else ""
    word = attempt.ending or inert(attempt.engine_status or "launched")
    parts = [f"#{attempt.number} {word}", attempt.handle, f"{at(attempt.started_at or attempt.begun_at)}{ended}"]
    if attempt.mitigation:
        parts.append(inert(attempt.mitigation))
    if attempt.failure is not None:
        parts.append(_failure(attempt))
    return "  ".join(parts)


def _evidence_line(style: Style, evidence: answers.Evidence, at: Any) -> str:
    number = f"attempt {evidence.attempt}: " if evidence.attempt else ""
    detail = f" ({inert(evidence.detail)})" if evidence.detail else ""
    claim = f"{number}{inert(evidence.claim)}{detail}"
    return f"{style.state(evidence.verdict)}  {claim}   {inert(evidence.source)}   {at(evidence.at)}"


def _program(spec: Mapping[str, Any]) -> str:
    program = spec.get("program") or {}
    words = program.get("argv") or [
        word for word in (program.get("script") or program.get("main"), *(program.get("args") or ())) if word
    ]
    if words:
        return shlex.join(str(word) for word in words)[:300]
    return msgspec.json.encode(program).decode()[:300]


def explain(
    style: Style, job: answers.Job, explanation: answers.Explanation, now: datetime, *, utc: bool = False
) -> Iterator[str]:
    """
    The reasoning about a job.
    """
    since = f"since {clock_time(explanation.why.since, now, utc=utc)} ({age(explanation.why.since, now)})"
    yield f"{style.state(job.phase)}  {inert(job.name)} ({job.uid}), {since}"
    yield f"Why              {inert(in_words(explanation.why.reason))}. {inert(explanation.why.message)}"
    means = meaning(explanation.why.reason)
    if means is not None:
        yield f"That means       {means}   (standfast explain phase uncertain)"
    if explanation.next is not None:
        when = f" at {clock_time(explanation.next.at, now, utc=utc)}" if explanation.next.at else ""
        yield f"Next             {inert(explanation.next.action)}{when}"
    for index, line in enumerate(explanation.known):
        yield f"{'What is known' if index == 0 else '':<16} {inert(line)}"
    for index, line in enumerate(explanation.settles):
        yield f"{'Would settle it' if index == 0 else '':<16} {index + 1}. {inert(line)}"
    if explanation.why.needs == "person":
        yield "It waits for a person."


def event_line(style: Style, event: answers.Event, now: datetime, *, utc: bool = False, name: str | None = None) -> str:
    """
    One event on a line: number, time, what, who, and what it says.
    """
    whom = f"  {name}" if name else ""
    what = f"{event.type:<18}  {inert(event.actor):<10}  {said(event)}"
    return f"{event.seq:>6}  {clock_time(event.at, now, utc=utc)}{whom}  {what}".rstrip()


def said(event: answers.Event) -> str:
    """
    What an event says, in one line.
    """
    return inert(
        ", ".join(
            f"{key} {_value(value)}"
            for key, value in event.data.items()
            if value is not None and key not in ("spec", "digest")
        )
    )


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        for key in ("handle", "message", "ending"):
            if value.get(key):
                return str(value[key])
        return "{…}"
    if isinstance(value, list | tuple):
        return f"[{len(value)}]"
    return str(value)


def plan(style: Style, planned: answers.Plan, *, token: str | None = None) -> Iterator[str]:
    """
    What a submission would do, and how to let it be done.
    """
    if planned.job is not None:
        job = planned.job
        yield (f"+ job {inert(job.name)}   engine {inert(job.engine)}   queue {inert(job.queue)}")
    yield f"would send once, when it is its turn{f', as {planned.handle}' if planned.handle else ''}:"
    call = msgspec.json.format(msgspec.json.encode(planned.engine_call), indent=2).decode()
    yield from (f"  {line}" for line in call.splitlines())
    yield "secrets are masked; nothing was sent to the engine, and the control plane stored nothing"
    if token is not None:
        yield f"standfast run --plan {token}   runs exactly this, once; refused if it would then be another"


def settled(style: Style, job: JobView) -> str:
    """
    How a job stands after a wait.
    """
    return f"{style.state(job.phase)}   {job.uid} {inert(job.name)}: {inert(job.why.message)}"
