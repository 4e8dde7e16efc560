"""
Verbs that may go on for a while: events, logs, wait.

Belongs here: what is shown as it comes, and when it ends. Not here: `run` (`progress`).
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from standfast.cli import output, refs, render
from standfast.cli.completion import job_names
from standfast.cli.exits import Exit, Quit, exit_of_phase
from standfast.cli.options import NOWHERE, Everywhere
from standfast.cli.session import Session, open_session
from standfast.cli.times import parse_duration_s, parse_since
from standfast.client.errors import CannotCome, WaitTimeout
from standfast.client.goals import Prospect, phases_of, prospect

if TYPE_CHECKING:
    from standfast.client import JobView

ROUND_S = 1.0
"""Longest time for one round of questions about several jobs."""


def events(
    ref: Annotated[str | None, Parameter(completer=job_names)] = None,
    /,
    *,
    follow: Annotated[bool, Parameter(name=("--follow", "-f"), negative="")] = False,
    since: str | None = None,
    everywhere: Everywhere = NOWHERE,
) -> int:
    """
    What happened, in order: to one job, or to all of them.

    Args:
        ref: The job; without one, with -f, every job.
        follow: Go on, over restarts of the control plane, until the job is final; without a job, until Ctrl-C.
        since: An event's number, 2h (ago), or an RFC 3339 time.
    """
    with open_session(everywhere) as session:
        after, begin = _cursor(session, since)
        if ref is not None:
            source = refs.find(session.client, ref).events(follow=follow, after=after)
        elif follow:
            source = session.client.watch(cursor=str(after) if since else None)
        else:
            raise Quit(Exit.USAGE, "name a job, or follow all of them with -f")
        for event in source:
            if begin is not None and event.at < begin:
                continue
            if session.format.for_people:
                name = None if ref is not None else event.uid
                line = render.event_line(
                    session.terminal.data, event, session.now(), utc=session.settings.utc, name=name
                )
                session.terminal.print(line)
            else:
                output.show_line(session.terminal, session.format, event)
        return Exit.OK


def logs(
    ref: Annotated[str, Parameter(completer=job_names)],
    /,
    *,
    follow: Annotated[bool, Parameter(name=("--follow", "-f"), negative="")] = False,
    tail: int | None = None,
    stream: Literal["stdout", "stderr"] = "stdout",
    grep: str | None = None,
    raw: Annotated[bool, Parameter(negative="")] = False,
    everywhere: Everywhere = NOWHERE,
) -> int:
    """
    The output of a job's latest attempt, each line tagged with the attempt; REF@1 for another attempt.

    Args:
        ref: The job, with @N for one attempt.
        follow: Go on until the job is final, across attempts and broken lines. The end of a log decides nothing.
        tail: Only the last lines of what is there.
        stream: stdout or stderr.
        grep: Only lines in which this regular expression is found.
        raw: Without the attempt before each line.
    """
    try:
        wanted = re.compile(grep) if grep is not None else None
    except re.error as error:
        raise Quit(Exit.USAGE, f"--grep {grep!r} is no regular expression: {error}") from None
    with open_session(everywhere) as session:
        number = refs.parse(ref).attempt
        job = refs.find(session.client, ref)
        for line in job.logs(attempt=number, stream=stream, follow=follow, tail=tail):
            if wanted is not None and not wanted.search(line.text):
                continue
            if session.format.for_people:
                session.terminal.print(line.text if raw else f"[{line.attempt}] {line.text}")
            else:
                output.show_line(
                    session.terminal,
                    session.format,
                    {"attempt": line.attempt, "stream": line.stream, "text": line.text},
                )
        return Exit.OK


def wait(
    *ref: Annotated[str, Parameter(completer=job_names)],
    for_: Annotated[str, Parameter(name="--for")] = "done",
    any_: Annotated[bool, Parameter(name="--any", negative="")] = False,
    timeout: str | None = None,
    everywhere: Everywhere = NOWHERE,
) -> int:
    """
    Return when jobs are as wished, or at once when that can no longer come.

    Exit 0 if they are as wished (for done: succeeded), 8 failed, 9 cancelled, 7 the time is over, 1 it cannot come.

    Args:
        ref: Jobs.
        for_: done, phase=P, or outcome=O.
        any_: One of them is enough.
        timeout: Longest wait, such as 10m; the jobs go on after it.
    """
    if not ref:
        raise Quit(Exit.USAGE, "name at least one job to wait for")
    until = _goal(for_)
    with open_session(everywhere) as session:
        views = [refs.find(session.client, word) for word in ref]
        begun = session.now()
        limit_s = None
        if timeout is not None:
            try:
                limit_s = parse_duration_s(timeout)
            except ValueError as error:
                raise Quit(Exit.USAGE, f"--timeout: {error}") from None
        if any_:
            return _first(session, views, until, limit_s)
        codes = []
        for view in views:
            left_s = None if limit_s is None else max(0.0, limit_s - (session.now() - begun).total_seconds())
            codes.append(_waited(session, view, until, left_s))
        return max(codes)


def _first(session: Session, views: list[JobView], until: str, limit_s: float | None) -> int:
    """
    Wait until one of the jobs is as wished, or none can be any more.
    """
    begun = session.now()
    while True:
        code = Exit.PENDING
        for index, view in enumerate(views):
            stands = prospect(until, view.phase)
            if stands is not Prospect.OPEN and (stands is Prospect.REACHED or len(views) == 1):
                return _waited(session, view, until, 0.0)
            if stands is Prospect.OPEN:
                views[index] = session.client.jobs.changed(view, timeout=ROUND_S / len(views))
        views = [view for view in views if prospect(until, view.phase) is not Prospect.IMPOSSIBLE] or views[:1]
        if limit_s is not None and (session.now() - begun).total_seconds() > limit_s:
            session.terminal.say(f"none of them is {until} after {limit_s:g}s; they go on")
            return code


def _waited(session: Session, view: JobView, until: str, timeout_s: float | None) -> int:
    try:
        done = view.wait(until=until, timeout=timeout_s)
    except (CannotCome, WaitTimeout) as error:
        from standfast.cli import problems

        return problems.show(session.terminal, error, machine=session.format.kind in ("json", "jsonl"))
    if session.format.for_people:
        session.terminal.say(render.settled(session.terminal.talk, done))
    else:
        output.show_line(session.terminal, session.format, done.snapshot)
    return exit_of_phase(done.phase) if until == "done" else Exit.OK


def _goal(text: str) -> str:
    """
    The phase, or done, that `--for` names.
    """
    kind, equals, word = text.partition("=")
    goal = word if equals and kind in ("phase", "outcome") else text
    try:
        phases_of(goal)
    except ValueError as error:
        raise Quit(Exit.USAGE, f"--for: {error}") from None
    return goal


def _cursor(session: Session, since: str | None) -> tuple[int, datetime | None]:
    """
    The event to begin behind, and the time to begin at.
    """
    if since is None:
        return 0, None
    if since.isdigit():
        return int(since), None
    try:
        return 0, parse_since(since, session.now())
    except ValueError as error:
        raise Quit(Exit.USAGE, f"--since: {error}") from None
