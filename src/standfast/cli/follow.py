"""
Verbs that may go on for a while: events, logs, wait.

Belongs here: what is shown as it comes, and when it ends. Not here: `run` (`progress`).
"""

from __future__ import annotations

import re
import time
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from standfast.cli import output, refs, render
from standfast.cli.completion import job_names
from standfast.cli.exits import Exit, Quit, exit_of_phase
from standfast.cli.options import NOWHERE, Everywhere, seconds
from standfast.cli.session import Session, open_session
from standfast.cli.times import parse_since
from standfast.client.errors import CannotCome, ClientError, WaitTimeout
from standfast.client.goals import Prospect, phases_of, prospect

if TYPE_CHECKING:
    from standfast.client import JobView

ROUND_S = 1.0
"""Longest time for one round of questions about several jobs."""

NAMED = 5
"""Jobs named in the sentence that none of many is as wished."""


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
        ref: The job; without one, with --since or -f, every job.
        follow: Go on, over restarts of the control plane, until the job is final; without a job, until Ctrl-C.
        since: An event's number, 2h (ago), or an RFC 3339 time.
    """
    with open_session(everywhere) as session:
        after, begin = _cursor(session, since)
        if ref is not None:
            source = refs.find(session.client, ref).events(follow=follow, after=after)
        elif follow:
            cursor = session.client.cursor_at(begin) if begin else str(after) if since else None
            source = session.client.watch(cursor=cursor)
        elif since is not None:
            source = session.client.history(after=after, since=begin)
        else:
            raise Quit(Exit.USAGE, "name a job, give --since for what happened to all of them, or -f to follow them")
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
        patience = _Patience(seconds(timeout, "--timeout"))
        if any_:
            return _first(session, views, until, patience)
        # All of them share the time; one that is looked at when it is over is asked once.
        return max(_waited(session, view, until, patience) for view in views)


class _Patience:
    """
    How long this command still waits, counted from its making.
    """

    def __init__(self, limit_s: float | None) -> None:
        self.limit_s = limit_s
        self._begun = time.monotonic()

    def left_s(self, most: float | None = None) -> float | None:
        """
        Seconds until the limit, at least 0 and at most `most`; None: no end.
        """
        left_s = None if self.limit_s is None else max(0.0, self.limit_s - (time.monotonic() - self._begun))
        return most if left_s is None or (most is not None and most < left_s) else left_s


def _first(session: Session, views: list[JobView], until: str, patience: _Patience) -> int:
    """
    Wait until one of the jobs is as wished, or none can be any more.
    """
    while True:
        over = patience.left_s() == 0.0
        for index, view in enumerate(views):
            stands = prospect(until, view.phase)
            if stands is not Prospect.OPEN and (stands is Prospect.REACHED or len(views) == 1):
                return _waited(session, view, until, patience)
            if stands is Prospect.OPEN:
                views[index] = session.client.jobs.changed(view, timeout=patience.left_s(ROUND_S / len(views)) or 0.0)
        views = [view for view in views if prospect(until, view.phase) is not Prospect.IMPOSSIBLE] or views[:1]
        if over:
            named = ", ".join(f"{view.name} is {view.phase.replace('_', ' ')}" for view in views[:NAMED])
            return _told(session, WaitTimeout(f"none is {until} after {patience.limit_s:.10g}s: {named}", views[0]))


def _waited(session: Session, view: JobView, until: str, patience: _Patience) -> int:
    try:
        done = view.wait(until=until, timeout=patience.left_s())
    except CannotCome as error:
        return _told(session, error)
    except WaitTimeout as error:
        # What was left of the time by then is of no interest; what was asked for is.
        return _told(session, WaitTimeout.of(error.job, patience.limit_s or 0.0))
    if session.format.for_people:
        session.terminal.say(render.settled(session.terminal.talk, done))
    else:
        output.show_line(session.terminal, session.format, done.snapshot)
    return exit_of_phase(done.phase) if until == "done" else Exit.OK


def _told(session: Session, error: ClientError) -> int:
    from standfast.cli import problems

    return problems.show(session.terminal, error, machine=session.format.kind in ("json", "jsonl"))


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
