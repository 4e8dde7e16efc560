"""
One line at the bottom of a terminal that says how things stand, drawn over itself; everything else is written above it.

Belongs here: drawing, and getting out of the way. Not here: what the line says (`progress`), or whether there is a
person to read it (`terminal`). No escape sequences: a carriage return and blanks work on every terminal.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

TICK_S = 0.25
"""Between two drawings; output that comes in between is not followed by one, so much of it costs nothing more."""


class StatusLine:
    """
    The line of one stream. Safe to use from several threads; without `say` there is no line, and nothing is written.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.RLock()
        self._drawn = 0
        self._stopped: threading.Event | None = None

    @contextmanager
    def shown(self, say: Callable[[], str], paint: Callable[[str], str] = str) -> Iterator[None]:
        """
        For the length of the block the line says what `say` returns, anew every `TICK_S` seconds, cut to the terminal's
        width and then painted.
        """
        self._stopped = stopped = threading.Event()
        ticker = threading.Thread(target=self._tick, args=(say, paint, stopped), name="status line", daemon=True)
        ticker.start()
        try:
            yield
        finally:
            stopped.set()
            with self.aside():
                pass

    @contextmanager
    def aside(self) -> Iterator[None]:
        """
        Whatever the block writes stands where the line was; the line comes back below it, later.
        """
        with self._lock:
            if self._drawn:
                self._stream.write("\r" + " " * self._drawn + "\r")
                self._stream.flush()
                self._drawn = 0
            yield

    def _tick(self, say: Callable[[], str], paint: Callable[[str], str], stopped: threading.Event) -> None:
        from standfast.cli.table import cut_to, width  # here, because few verbs ever draw

        while not stopped.wait(TICK_S):
            text = cut_to(say(), self._columns() - 1)
            with self._lock:
                if stopped.is_set():
                    return
                # What is left of a longer line before it is drawn over with blanks.
                blanks = " " * max(0, self._drawn - width(text))
                self._stream.write("\r" + paint(text) + blanks)
                self._stream.flush()
                self._drawn = max(self._drawn, width(text))

    def _columns(self) -> int:
        try:
            columns = os.get_terminal_size(self._stream.fileno()).columns
        except (OSError, ValueError):
            columns = 0
        # Some terminals do not say how wide they are.
        return columns or shutil.get_terminal_size().columns
