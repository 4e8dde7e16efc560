"""
Following one job on the terminal: its output on stdout and stderr, what happens to it on stderr, its end as exit code.

Belongs here: `run` after acceptance. Not here: single questions (`follow`, `look`).
"""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from standfast.cli import output
from standfast.cli.exits import Exit, exit_of_phase
from standfast.cli.manual import in_words
from standfast.cli.session import Session
from standfast.cli.terminal import inert
from standfast.cli.times import span
from standfast.client.errors import ClientError

if TYPE_CHECKING:
    from standfast.client import JobView, answers

LOG_JOIN_S = 10.0
"""Longest wait for the rest of the output once the job is final."""

HOLD_S = 20.0
"""Of one question for a change."""

PLACE_S = 3.0
"""The same while a job is queued, so that its place is not older than this."""

GLYPHS = {
    "Submitted": "✓",
    "LaunchBegun": "●",
    "LaunchRepeated": "●",
    "Started": "●",
    "StopRequested": "●",
    "RetryScheduled": "↻",
    "BackoffElapsed": "○",
    "BecameUncertain": "?",
    "Suspended": "‖",
    "Resumed": "○",
    "Succeeded": "✓",
    "Failed": "✗",
    "Cancelled": "⊘",
}
SILENT = ("Submitted", "StatusChanged", "RemainderRemoved", "BackoffElapsed", "Succeeded", "Failed", "Cancelled")
"""Events that say nothing new to somebody who watches; how it ended is told by the last line."""


def follow(session: Session, job: JobView, *, pass_exit_code: bool, quiet: bool) -> int:
    """
    Show the job until it is final; its exit code. Ctrl-C leaves it running.
    """
    begun = time.monotonic()
    readers = [_Reader(session, job, stream) for stream in ("stdout", "stderr")]
    for reader in readers:
        reader.start()
    try:
        done = _to_its_end(session, job, begun, quiet=quiet)
        for reader in readers:
            reader.join(LOG_JOIN_S)
    except KeyboardInterrupt:
        _detached(session, job)
        return Exit.DETACHED
    if not session.format.for_people:
        output.show_one(session.terminal, session.format, done.snapshot)
    if not quiet:
        talk = session.terminal.talk
        session.terminal.say(
            talk.paint(f"{talk.glyph(done.phase)} {done.phase:<11} {inert(done.why.message)}", done.phase)
            + f"   {span(time.monotonic() - begun)}"
        )
    return _code(done, pass_exit_code)


def _to_its_end(session: Session, job: JobView, begun: float, *, quiet: bool) -> JobView:
    """
    The final job, after each event was told; on a terminal the last line says how it stands meanwhile.
    """
    now = _Now(session, job.refresh())
    seen = 0
    with ExitStack() as stack:
        if session.terminal.live and not quiet:
            stack.enter_context(session.terminal.status.shown(now.line, now.painted))
        while True:
            for event in now.view.events(after=seen):
                seen = event.seq
                if not quiet and event.type not in SILENT:
                    _tell(session, event, time.monotonic() - begun)
            if now.view.final:
                return now.view
            # While it is queued its place changes, though nothing happens to it.
            hold_s = PLACE_S if now.view.phase == "queued" else HOLD_S
            now.view = session.client.jobs.changed(now.view, timeout=hold_s)


class _Now:
    """
    How the job stands, in one line.
    """

    def __init__(self, session: Session, view: JobView) -> None:
        self._session = session
        self.view = view

    def line(self) -> str:
        """
        Phase, why, and for how long so.
        """
        view = self.view
        phase = view.phase.replace("_", " ")
        since_s = (self._session.now() - view.why.since).total_seconds()
        talk = self._session.terminal.talk
        return talk.plain(f"{talk.glyph(view.phase)} {phase:<11} {span(since_s):>5}   {inert(view.why.message)}")

    def painted(self, line: str) -> str:
        """
        The line in the colour of the phase.
        """
        return self._session.terminal.talk.paint(line, self.view.phase)


def _code(job: JobView, pass_exit_code: bool) -> int:
    """
    The job's own exit code if that is wanted and known, else ours for its end.
    """
    code = exit_of_phase(job.phase)
    if not pass_exit_code:
        return code
    own = own_exit_code(job)
    return own if own is not None else (Exit.OK if code is Exit.OK else Exit.OURS)


def own_exit_code(job: JobView) -> int | None:
    """
    What the latest attempt's process exited with, if the engine can tell.
    """
    return job.attempt.exit_code if job.attempt else None


class _Reader(threading.Thread):
    """
    Copies one stream of the job's output to the same stream of ours.
    """

    def __init__(self, session: Session, job: JobView, stream: str) -> None:
        super().__init__(name=f"{stream} of {job.uid}", daemon=True)
        self._session = session
        self._job = job
        self._stream = stream

    def run(self) -> None:
        """
        Copy until the job is final.
        """
        terminal = self._session.terminal
        # With a document wanted on stdout, the job's output is talk.
        to_out = self._stream == "stdout" and self._session.format.for_people
        try:
            for line in self._job.logs(stream=self._stream, follow=True):
                terminal.write_line(line.text, out=to_out)
        except ClientError as error:
            terminal.say(f"-- {self._stream} cannot be shown: {error.message} --")
        except (BrokenPipeError, ValueError):
            return


def _tell(session: Session, event: answers.Event, elapsed_s: float) -> None:
    talk = session.terminal.talk
    glyph = talk.plain(GLYPHS.get(event.type, "·"))
    line = f"{glyph} {_words(event)}"
    if session.terminal.live:
        session.terminal.say(f"{line}   {talk.paint(span(elapsed_s), 'dim')}")
    else:
        session.terminal.say(f"{event.at.isoformat(timespec='milliseconds')} {line}")


def _words(event: answers.Event) -> str:
    """
    The event in the words of a person who watches.
    """
    data = event.data
    match event.type:
        case "LaunchBegun":
            attempt = data.get("attempt") or {}
            return f"launching   attempt {attempt.get('number')}, handle {attempt.get('handle')} stored before the call"
        case "LaunchRepeated":
            return f"launching   once more, the same bytes: {inert(str(data.get('because')))}"
        case "Started":
            status = data.get("engine_ref") or data.get("engine_status") or data.get("source")
            return f"running     {inert(str(status))}"
        case "RetryScheduled":
            failure = (data.get("end") or {}).get("failure") or {}
            what = f"{failure.get('failure_class', 'failed')}: {failure.get('message', '')}"
            return f"backing off next attempt in {span(float(data.get('delay_s') or 0))}; {inert(what)}"
        case "StopRequested":
            return f"stopping    {data.get('cause')} asked by {inert(str(data.get('by')))}"
        case "BecameUncertain":
            return f"uncertain   {inert(str(data.get('message')))}"
        case "Resolved":
            return inert(f"resolved    as {data.get('answer')} by {data.get('by')}: {data.get('because')}")
        case "ContactLost":
            return f"silent      {inert(str(data.get('reason')))}; that is no news about the job"
        case _:
            return in_words(event.type).lower()


def _detached(session: Session, job: JobView) -> None:
    say = session.terminal.say
    again = f"standfast run --attach {job.uid} · standfast logs -f {job.uid} · standfast cancel {job.uid}"
    say(f"detached, the job goes on.   {again}")
    if session.embedded:
        say(
            f"No control plane watches it now; the next standfast command on {session.client_folder}, or standfast"
            " serve, finds it, and does what is due."
        )
