"""
Where a follower of events or output stands, and what a broken line means for it: pure, shared by sync and async.

Belongs here: cursors, and lines out of bytes. Not here: connections.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import httpx2
import msgspec

from standfast.client import answers, calls
from standfast.client.answers import Event
from standfast.client.errors import BadAnswer, ClientError, NotFound, Unavailable
from standfast.client.snapshot import FINAL
from standfast.client.transport import Frame

PAUSE_FIRST_S = 0.2
PAUSE_CAP_S = 5.0

TAIL_BYTES_MAX = 1024 * 1024
LINE_BYTES = 2048
"""Bytes asked for each line of a tail; longer lines make the tail shorter, never wrong."""

LOOK_FIRST_S = 0.1
LOOK_CAP_S = 1.0

_events = msgspec.json.Decoder(Event)


class Position:
    """
    A follower's place in the global sequence of events.
    """

    def __init__(self, cursor: str | None, told: Callable[[str], None] | None = None) -> None:
        self.cursor = cursor
        self._told = told or (lambda sentence: None)
        self._breaks = 0

    def take(self, frame: Frame) -> Event | None:
        """
        The event in the frame, if it is one and was not seen before.

        Raises:
            BadAnswer: It is none that we understand.
        """
        if self._breaks:
            self._told(f"the stream is back, resumed after {self.cursor or 'the start'}, nothing missed")
            self._breaks = 0
        if not frame.data or frame.event in ("bookmark", "heartbeat"):
            self.cursor = frame.id or self.cursor
            return None
        try:
            event = _events.decode(frame.data)
        except msgspec.MsgspecError as error:
            raise BadAnswer(f"an event that is not understood: {error}") from error
        if self.cursor is not None and self.cursor.isdigit() and event.seq <= int(self.cursor):
            return None
        self.cursor = frame.id or str(event.seq)
        return event

    def broke(self, error: httpx2.TransportError | ClientError | None) -> float:
        """
        Seconds to pause before the next connection.

        Raises:
            ClientError: No connection would help.
        """
        if isinstance(error, ClientError) and not isinstance(error, Unavailable):
            raise error
        self._breaks += 1
        if self._breaks == 1:
            why = f" ({error.message} [{error.code}])" if isinstance(error, ClientError) else ""
            self._told(f"the stream broke{why}; reconnecting")
        return min(PAUSE_CAP_S, PAUSE_FIRST_S * 2.0 ** (self._breaks - 1))


class Seek:
    """
    The search for the first event since an instant, by halving: some twenty questions for a million events.

    after: every event up to this number came before the instant. done: so far as one can tell without reading on.
    """

    def __init__(self, at: datetime, newest: int) -> None:
        self._at = at
        self._last = newest
        self.after = 0

    @property
    def done(self) -> bool:
        """
        Whether `after` will not grow any more.
        """
        return self.after >= self._last

    @property
    def probe(self) -> int:
        """
        The number behind which to look at one event.
        """
        return (self.after + self._last) // 2

    def take(self, found: Sequence[Event]) -> None:
        """
        The event behind `probe`, if there is one.
        """
        if not found or found[0].at >= self._at:
            self._last = self.probe
        else:
            self.after = found[0].seq


@dataclass(frozen=True)
class LogLine:
    """
    One line of output, without its line break; attempt: which try wrote it.
    """

    attempt: int
    stream: str
    text: str


class Reading:
    """
    A reader's place in the output of a job: which attempt, how far, and what of a line is still to come.

    done: nothing more will be read. must_look: ask how the job is, for `pause_s`, before reading on.
    """

    def __init__(self, attempt: int | None, stream: str, *, follow: bool, tail: int | None) -> None:
        self._only = attempt
        self._stream = stream
        self._follow = follow
        self._tail = tail
        self._number = attempt
        self._cursor: str | None = None
        self._rest = b""
        self.done = False
        self.must_look = False
        self.pause_s = LOOK_FIRST_S

    def next(self, job: answers.Job) -> calls.Call[calls.LogChunk] | None:
        """
        The question to ask now; None if there is no attempt to ask about yet.
        """
        self.must_look = False
        if self._number is None:
            if job.attempt is None:
                self._nothing(job)
                return None
            self._number = 1 if self._follow and self._tail is None else job.attempt.number
        return calls.logs(
            job.uid,
            attempt=self._number,
            stream=self._stream,
            cursor=self._cursor,
            tail_bytes=min(TAIL_BYTES_MAX, self._tail * LINE_BYTES) if self._tail and self._cursor is None else None,
        )

    def take(self, chunk: calls.LogChunk, job: answers.Job) -> list[LogLine]:
        """
        The whole lines that the piece of output brings; `job` is as it was before the piece was read.
        """
        first, self._cursor = self._cursor is None, chunk.next_cursor or self._cursor
        if chunk.data:
            self.pause_s = LOOK_FIRST_S
            *whole, self._rest = (self._rest + chunk.data).split(b"\n")
            if first and self._tail is not None:
                whole = _last(whole, self._tail - bool(self._rest), cut=chunk.offset > 0)
            return [self._line(line) for line in whole]
        return self._nothing(job, ended=chunk.ended)

    def missed(self, error: ClientError, job: answers.Job) -> list[LogLine]:
        """
        What an answer without output means: not there yet, or not to be had now.

        Raises:
            ClientError: It will not get better.
        """
        if isinstance(error, NotFound) and error.code in ("job_not_found", "attempt_not_found"):
            raise error
        if not self._follow or (self._only is not None and not isinstance(error, Unavailable)):
            if isinstance(error, NotFound):
                self.done = True
                return []
            raise error
        return self._nothing(job)

    def _nothing(self, job: answers.Job, *, ended: bool = False) -> list[LogLine]:
        """
        Nothing new: wait for more, go to the next attempt, or stop.
        """
        final = job.phase in FINAL
        later = self._only is None and self._number is not None and _latest(job) > self._number
        if self._follow and not (ended or final or later):
            self._wait()
            return []
        lines = [self._line(self._rest)] if self._rest else []
        self._rest = b""
        if self._follow and later and self._number is not None:
            self._number += 1
            self._cursor = self._tail = None
            self.pause_s = LOOK_FIRST_S
        elif self._follow and not final and self._only is None:
            self._wait()  # this attempt is over, and whether another follows is not known yet
        else:
            self.done = True
        return lines

    def _wait(self) -> None:
        self.must_look = True
        self.pause_s = min(LOOK_CAP_S, self.pause_s * 1.5)

    def _line(self, raw: bytes) -> LogLine:
        return LogLine(self._number or 0, self._stream, raw.removesuffix(b"\r").decode(errors="replace"))


def _last(lines: list[bytes], count: int, *, cut: bool) -> list[bytes]:
    """
    The last `count` lines; the first one is left out if its beginning was `cut` off.
    """
    return lines[max(int(cut), len(lines) - count) :] if count > 0 else []


def _latest(job: answers.Job) -> int:
    return job.attempt.number if job.attempt else 0
