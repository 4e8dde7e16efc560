"""
Verbs that ask once: get, describe, explain.

Belongs here: which question, and which face of the answer. Not here: words (`render`), following (`follow`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from standfast.cli import output, refs, render, table
from standfast.cli.completion import job_names
from standfast.cli.exits import Exit, Quit
from standfast.cli.manual import code_page, phase_page
from standfast.cli.options import NOWHERE, Everywhere, Words, pairs
from standfast.cli.session import Session, open_session
from standfast.cli.times import parse_since
from standfast.client.errors import NotFound

if TYPE_CHECKING:
    from standfast.client import JobView, answers

LIMIT = 100
ALL_FROM = 1000
"""More rows than this only with --all."""

PLACED_MAX = 25
"""Queued jobs in a table whose place in the queue is asked for."""

Refs = Annotated[str, Parameter(completer=job_names)]


def get(
    kind: Literal["jobs", "job", "attempts", "engines"],
    /,
    *ref: Refs,
    label: Annotated[Words, Parameter(name=("--label", "-l"))] = (),
    phase: Words = (),
    engine: Annotated[Words, Parameter(name=("--engine", "-e"))] = (),
    name_prefix: str | None = None,
    queue: str | None = None,
    since: str | None = None,
    limit: int = LIMIT,
    all_: Annotated[bool, Parameter(name=("--all", "-A"), negative="")] = False,
    all_namespaces: Annotated[bool, Parameter(negative="")] = False,
    watch: Annotated[bool, Parameter(name=("--watch", "-w"), negative="")] = False,
    everywhere: Everywhere = NOWHERE,
) -> int:
    """
    List jobs, attempts of a job, or engines.

    Args:
        kind: What to list.
        ref: Only these jobs; for attempts: the job.
        label: Only with this label k=v; may be given several times.
        phase: Only in these phases, separated by commas; !succeeded for not that.
        engine: Only on this engine; may be given several times.
        name_prefix: Only names that begin so.
        queue: Only in this queue.
        since: Only created since 2h ago, or since an RFC 3339 time.
        limit: Rows at most, newest first; default 100.
        all_: Every row; pages are fetched as they are shown.
        all_namespaces: In every namespace.
        watch: List, then show each job again whenever something happens to it, until Ctrl-C.
    """
    with open_session(everywhere) as session:
        if kind == "engines":
            return _engines(session)
        if kind == "attempts":
            return _attempts(session, ref)
        if limit > ALL_FROM and not all_:
            raise Quit(Exit.USAGE, f"--limit beyond {ALL_FROM} needs --all")
        if ref:
            jobs = [_placed(refs.find(session.client, word)).snapshot for word in ref]
            _show_jobs(session, jobs, more=False, cursor=None)
            return Exit.OK
        filters: dict[str, Any] = {
            "namespace": "" if all_namespaces else None,
            "labels": pairs(label, "-l"),
            "phase": [part for word in phase for part in word.split(",") if part],
            "engine": engine,
            "name_prefix": name_prefix,
            "queue": queue,
            "created_after": None if since is None else _since(since, session.now()),
        }
        return _jobs(session, filters, limit=None if all_ else limit, watch=watch)


def _jobs(session: Session, filters: dict[str, Any], *, limit: int | None, watch: bool) -> int:
    size = ALL_FROM if limit is None else min(limit, ALL_FROM)
    pages = session.client.jobs.list(**filters, page_size=size).pages()
    first = next(pages)
    cursor = first.watch_cursor
    if limit is None and not watch and session.format.kind in ("jsonl", "name", "fields"):
        # Line by line as the pages come, so that a million rows take no memory.
        for job in itertools.chain(first, *pages):
            output.show_line(session.terminal, session.format, job.snapshot)
        return Exit.OK
    jobs = [job.snapshot for job in (itertools.chain(first, *pages) if limit is None else first)]
    more = limit is not None and next(pages, None) is not None
    if watch:
        return _watch(session, jobs, filters, cursor)
    _show_jobs(session, jobs, more=more, cursor=cursor)
    return Exit.OK


def _show_jobs(session: Session, jobs: Sequence[answers.Job], *, more: bool, cursor: str | None) -> None:
    terminal = session.terminal
    if not session.format.for_people:
        output.show_many(terminal, session.format, jobs, about={"watch_cursor": cursor})
        return
    if not jobs:
        terminal.say("no job fits")
        return
    jobs = _all_placed(session, jobs)
    for line in render.jobs_table(
        terminal.data,
        jobs,
        session.now(),
        wide=session.format.kind == "wide",
        fit=terminal.columns,
        utc=session.settings.utc,
    ):
        terminal.print(line)
    terminal.say(terminal.talk.paint(render.jobs_footer(jobs, more=more, cursor=cursor), "dim"))


def _placed(job: JobView) -> JobView:
    """
    The job; if it is queued, with its place and who holds the slots, which a list does not count.
    """
    return job.refresh() if job.phase == "queued" else job


def _all_placed(session: Session, jobs: Sequence[answers.Job]) -> list[answers.Job]:
    """
    The jobs, the first few queued ones with their place; one question each, so not for hundreds.
    """
    asked = itertools.islice((job.uid for job in jobs if job.why.reason == "AwaitingTurn"), PLACED_MAX)
    found = {}
    for uid in asked:
        with suppress(NotFound):
            found[uid] = session.client.jobs.get(uid).snapshot
    return [found.get(job.uid, job) for job in jobs]


def _watch(session: Session, jobs: list[answers.Job], filters: dict[str, Any], cursor: str | None) -> int:
    """
    The list, then one line for each job that something happened to.
    """
    terminal = session.terminal
    show = session.format
    if show.for_people:
        _show_jobs(session, jobs, more=False, cursor=cursor)
    else:
        for job in jobs:
            output.show_line(terminal, show, job)
    for event in session.client.watch(cursor=cursor):
        found = _matching(session, event.uid, filters)
        if found is None:
            continue
        if show.for_people:
            style = terminal.data
            terminal.print(render.change_line(style, found, session.now(), utc=session.settings.utc))
        else:
            output.show_line(terminal, show, found)
    return Exit.OK


def _matching(session: Session, uid: str, filters: dict[str, Any]) -> answers.Job | None:
    """
    The job, if it still fits what is watched.
    """
    try:
        job = session.client.jobs.get(uid).snapshot
    except NotFound:
        return None
    namespace = session.client.namespace if filters["namespace"] is None else filters["namespace"]
    wanted = [phase for phase in filters["phase"] if not phase.startswith("!")]
    fits = (
        (not namespace or job.namespace == namespace)
        and all(job.labels.get(key) == value for key, value in filters["labels"].items())
        and (not wanted or job.phase in wanted)
        and "!" + job.phase not in filters["phase"]
        and (not filters["engine"] or job.engine in filters["engine"])
        and (not filters["name_prefix"] or job.name.startswith(filters["name_prefix"]))
        and (not filters["queue"] or job.queue == filters["queue"])
    )
    return job if fits else None


def _attempts(session: Session, words: Sequence[str]) -> int:
    if len(words) != 1:
        raise Quit(Exit.USAGE, "name one job whose attempts to list")
    attempts = refs.find(session.client, words[0]).attempts()
    number = refs.parse(words[0]).attempt
    attempts = [attempt for attempt in attempts if number in (None, attempt.number)]
    if not session.format.for_people:
        output.show_many(session.terminal, session.format, attempts)
        return Exit.OK
    for line in render.attempts_table(session.terminal.data, attempts, session.now(), fit=session.terminal.columns):
        session.terminal.print(line)
    return Exit.OK


def _engines(session: Session) -> int:
    found = session.client.engines().get("items", [])
    if not session.format.for_people:
        output.show_many(session.terminal, session.format, found)
        return Exit.OK
    style = session.terminal.data
    rows = [
        [
            str(engine.get("name")),
            style.paint(style.plain("✓ answers"), "good")
            if engine.get("reachable")
            else style.paint(style.plain("✗ silent"), "bad"),
            f"{engine.get('active')}/{engine.get('slots')}",
            str(engine.get("queued")),
            str(engine.get("trouble") or "-"),
            ",".join(engine.get("capabilities", [])),
        ]
        for engine in found
    ]
    for line in table.columns(
        ("NAME", "STATE", "SLOTS", "QUEUED", "TROUBLE", "CAN"), rows, fit=session.terminal.columns, cut=("CAN",)
    ):
        session.terminal.print(line)
    return Exit.OK


def describe(
    kind: str,
    ref: Annotated[str | None, Parameter(completer=job_names)] = None,
    /,
    *,
    everywhere: Everywhere = NOWHERE,
) -> int:
    """
    The facts about one job on one screen: phase, why, next, moves, attempts, evidence, latest events.

    Args:
        kind: job; may be left out.
        ref: The job.
    """
    word = ref if ref is not None and kind == "job" else kind
    if ref is not None and kind != "job":
        raise Quit(Exit.USAGE, f"describe {kind}: only jobs can be described")
    with open_session(everywhere) as session:
        job = _placed(refs.find(session.client, word))
        if not session.format.for_people:
            document = {
                "job": job.snapshot,
                "attempts": job.attempts(),
                "evidence": job.evidence(),
                "events": list(job.events()),
            }
            output.show_one(session.terminal, session.format, document)
            return Exit.OK
        for line in render.describe(
            session.terminal.data,
            job.snapshot,
            job.attempts(),
            job.evidence(),
            list(job.events()),
            session.now(),
            utc=session.settings.utc,
        ):
            session.terminal.print(line)
        return Exit.OK


def explain(
    subject: Annotated[str, Parameter(completer=job_names)],
    word: str | None = None,
    /,
    *,
    everywhere: Everywhere = NOWHERE,
) -> int:
    """
    Why a job is as it is, what is known, and what would settle the rest; or the manual page of a phase or error code.

    Args:
        subject: A job; or the word phase, or the word code.
        word: With phase: its name, such as uncertain. With code: an error code, such as idempotency_key_reused.
    """
    if word is not None and subject not in ("phase", "code"):
        raise Quit(Exit.USAGE, f"explain {subject}: write explain REF, explain phase PHASE or explain code CODE")
    with open_session(everywhere) as session:
        if word is not None and subject == "phase":
            for line in phase_page(word):
                session.terminal.print(line)
            return Exit.OK
        if word is not None:
            for line in code_page(session.client.problems(), word):
                session.terminal.print(line)
            return Exit.OK
        return _explained(session, refs.find(session.client, subject))


def _explained(session: Session, job: JobView) -> int:
    explanation = job.explain()
    if not session.format.for_people:
        output.show_one(session.terminal, session.format, explanation)
        return Exit.OK
    for line in render.explain(
        session.terminal.data, job.snapshot, explanation, session.now(), utc=session.settings.utc
    ):
        session.terminal.print(line)
    return Exit.OK


def _since(text: str, now: datetime) -> datetime:
    try:
        return parse_since(text, now)
    except ValueError as error:
        raise Quit(Exit.USAGE, f"--since: {error}") from None
