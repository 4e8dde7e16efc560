"""
Where a followed job is shown: one output cell of a notebook that is kept up to date, or lines on stderr.

Belongs here: finding out where the caller sits, and showing views there. Not here: what a view looks like (`snapshot`),
or when there is something new (`sync`, `aio`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TextIO

from standfast.client.snapshot import GLYPHS, Snapshot

Show = Callable[[Snapshot[Any]], None]
"""Called with the job as it was found, and again whenever something happened to it."""


def here() -> Show:
    """
    A cell of the notebook that this runs in, else lines on stderr.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    # A shell in a terminal has no cell to go back to.
    return Cell() if getattr(shell, "kernel", None) is not None else Lines(sys.stderr)


class Cell:
    """
    One place in a notebook's output, drawn anew for each view.
    """

    def __init__(self) -> None:
        self._drawn: Any = None

    def __call__(self, view: Snapshot[Any]) -> None:
        """
        Draw it, in the place of what was there.
        """
        if self._drawn is None:
            from IPython.display import display

            self._drawn = display(view, display_id=True)
        else:
            self._drawn.update(view)


class Lines:
    """
    One line for each view, with the time since which it is so.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __call__(self, view: Snapshot[Any]) -> None:
        """
        Write the line.
        """
        since = view.why.since.astimezone().strftime("%H:%M:%S")
        phase = f"{GLYPHS.get(view.phase, '·')} {view.phase.replace('_', ' ')}"
        # One line whatever a program or an engine has written into the message, and nothing that a terminal obeys.
        said = "".join(c if c.isprintable() else " " for c in f"{view.name} {view.uid}  {view.why.message}")
        line = f"{since} {phase:<13} {said}\n"
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        self._stream.write(line.encode(encoding, "replace").decode(encoding))
        self._stream.flush()
