"""
What a job looked like when it was last asked about: frozen, and able to show itself.

Belongs here: everything that needs no further question. Not here: questions (`sync`, `aio`).
"""

from __future__ import annotations

import html
from datetime import datetime
from typing import Any, Generic, TypeVar

from standfast.client import answers
from standfast.client.errors import JobCancelled, JobFailed, JobNotSucceeded, JobUncertain

C = TypeVar("C")

GLYPHS = {
    "queued": "○",
    "launching": "●",
    "running": "●",
    "stopping": "●",
    "backing_off": "↻",
    "suspended": "‖",
    "uncertain": "?",
    "succeeded": "✓",
    "failed": "✗",
    "cancelled": "⊘",
}
FINAL = ("succeeded", "failed", "cancelled")


class Snapshot(Generic[C]):
    """
    One job as of one revision. It never changes; `refresh` of the classes built on it gives a new one.
    """

    __slots__ = ("_client", "_replayed", "_snapshot")

    def __init__(self, client: C, snapshot: answers.Job, *, replayed: bool = False) -> None:
        self._client = client
        self._snapshot = snapshot
        self._replayed = replayed

    @property
    def snapshot(self) -> answers.Job:
        """
        The whole answer of the control plane.
        """
        return self._snapshot

    @property
    def replayed(self) -> bool:
        """
        Whether this very request had been accepted before, so that nothing new was made.
        """
        return self._replayed

    @property
    def uid(self) -> str:
        """
        The job's identity.
        """
        return self._snapshot.uid

    @property
    def name(self) -> str:
        """
        What its owner calls it.
        """
        return self._snapshot.name

    @property
    def namespace(self) -> str:
        """
        Where its name and request id count.
        """
        return self._snapshot.namespace

    @property
    def revision(self) -> int:
        """
        Grows with everything that happens to the job.
        """
        return self._snapshot.revision

    @property
    def phase(self) -> str:
        """
        Where it is in its life.
        """
        return self._snapshot.phase

    @property
    def outcome(self) -> str | None:
        """
        The final verdict, if there is one.
        """
        return self._snapshot.outcome

    @property
    def engine_status(self) -> str | None:
        """
        The engine's own word, verbatim.
        """
        return self._snapshot.engine_status

    @property
    def why(self) -> answers.Why:
        """
        Why it is in its phase.
        """
        return self._snapshot.why

    @property
    def next(self) -> answers.Next | None:
        """
        What happens next without anyone's doing; None at the end.
        """
        return self._snapshot.next

    @property
    def moves(self) -> tuple[answers.Move, ...]:
        """
        Every verb, and whether the job allows it now.
        """
        return tuple(self._snapshot.moves)

    @property
    def attempt(self) -> answers.AttemptRef | None:
        """
        The latest attempt, with its handle on the engine.
        """
        return self._snapshot.attempt

    @property
    def created_at(self) -> datetime:
        """
        When it was accepted.
        """
        return self._snapshot.created_at

    @property
    def final(self) -> bool:
        """
        Whether no arrow leads out of its phase.
        """
        return self.phase in FINAL

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.uid} {self.name!r} {self.phase}: {self.why.reason}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Snapshot) and self._snapshot == other._snapshot

    def __hash__(self) -> int:
        return hash((self.uid, self.revision))

    def _repr_html_(self) -> str:
        """
        A few lines for a notebook: static, escaped, no script.
        """

        def text(value: Any) -> str:
            return html.escape(str(value), quote=True)

        attempt = self.attempt
        tried = f"attempt {attempt.number} of {attempt.max}" if attempt else "no attempt yet"
        rows = [
            ("Phase", f"{GLYPHS.get(self.phase, '·')} {self.phase}"),
            ("Why", f"{self.why.reason}. {self.why.message}"),
            ("Next", self.next.action if self.next else "-"),
            ("Attempts", tried),
        ]
        cells = "".join(
            f"<tr><th style='text-align:left'>{text(title)}</th><td style='text-align:left'>{text(value)}</td></tr>"
            for title, value in rows
        )
        return (
            f"<table><caption>{text(self.name)} <code>{text(self.uid)}</code></caption><tbody>{cells}</tbody></table>"
        )


def success_of(snapshot: Snapshot[Any]) -> None:
    """
    Nothing, if the job succeeded.

    Raises:
        JobFailed, JobCancelled, JobUncertain: As its phase says. JobNotSucceeded: It has not ended.
    """
    kinds: dict[str, type[JobNotSucceeded]] = {
        "failed": JobFailed,
        "cancelled": JobCancelled,
        "uncertain": JobUncertain,
    }
    if snapshot.phase == "succeeded":
        return
    kind = kinds.get(snapshot.phase, JobNotSucceeded)
    raise kind(f"{snapshot.uid} {snapshot.name} is {snapshot.phase}: {snapshot.why.message}", snapshot)
