"""
The three streams of the command line and what each can do.

Belongs here: who hears what (stdout is data, stderr is talk), whether colour is wanted, questions. Not here: words.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from typing import Literal, TextIO

from standfast.cli.status_line import StatusLine
from standfast.cli.style import Style

Colour = Literal["auto", "always", "never"]

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u202a-\u202e\u2066-\u2069]")


def inert(text: str) -> str:
    """
    Text from elsewhere in one line, with control characters and direction marks shown instead of obeyed.
    """
    text = text.replace("\n", " ⏎ ").replace("\t", " ")
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


class Terminal:
    """
    Where the command line reads and writes, with what the environment says about it.
    """

    def __init__(
        self,
        *,
        colour: Colour = "auto",
        out: TextIO | None = None,
        err: TextIO | None = None,
        source: TextIO | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.out = out or sys.stdout
        self.err = err or sys.stderr
        self.source = source or sys.stdin
        environment = os.environ if environment is None else environment
        self.data = Style(colour=_wants_colour(self.out, colour, environment), unicode=_can_unicode(self.out))
        self.talk = Style(colour=_wants_colour(self.err, colour, environment), unicode=_can_unicode(self.err))
        self.status = StatusLine(self.err)
        self._dumb = environment.get("TERM") == "dumb" or bool(environment.get("CI"))

    @property
    def live(self) -> bool:
        """
        Whether a person reads stderr as it comes, rather than a log later.
        """
        return _is_tty(self.err) and not self._dumb

    @property
    def asks(self) -> bool:
        """
        Whether there is a person to ask.
        """
        return _is_tty(self.source) and _is_tty(self.err)

    @property
    def columns(self) -> int | None:
        """
        Width to fit tables to; None if stdout is not a terminal.
        """
        return shutil.get_terminal_size().columns if _is_tty(self.out) else None

    def print(self, text: str = "") -> None:
        """
        One piece of data, flushed, so that a pipe's reader sees it now.
        """
        self.write_line(self.data.plain(text))

    def raw(self, data: bytes) -> None:
        """
        Bytes of a job's output, as they are.
        """
        buffer = getattr(self.out, "buffer", None)
        with self.status.aside():
            if buffer is None:
                self.out.write(data.decode(errors="replace"))
            else:
                self.out.flush()
                buffer.write(data)
            self.out.flush()

    def write_line(self, text: str, *, out: bool = True) -> None:
        """
        One line to stdout, or to stderr, as it is, and flushed; a status line gets out of its way.
        """
        stream = self.out if out else self.err
        with self.status.aside():
            stream.write(text + "\n")
            stream.flush()

    def say(self, text: str = "") -> None:
        """
        One line for a person.
        """
        self.write_line(self.talk.plain(text), out=False)

    def answer(self, question: str) -> str:
        """
        What the person types, without blanks around it; empty at the end of input.
        """
        self.err.write(self.talk.plain(question))
        self.err.flush()
        return self.source.readline().strip()


def _is_tty(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


def _wants_colour(stream: TextIO, colour: Colour, environment: Mapping[str, str]) -> bool:
    if colour != "auto":
        return colour == "always"
    if environment.get("NO_COLOR") or environment.get("TERM") == "dumb" or environment.get("CI"):
        return False
    return _is_tty(stream)


def _can_unicode(stream: TextIO) -> bool:
    """
    Whether the stream takes our glyphs; a stream without an encoding is one of Python's own.
    """
    encoding = getattr(stream, "encoding", None)
    if encoding is None:
        return True
    try:
        "✓✗●○↻‖⊘".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
