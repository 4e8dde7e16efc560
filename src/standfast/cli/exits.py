"""
The exit codes, each with one meaning for all verbs, and which outcome gives which.

Belongs here: nothing that needs the client, so that help and usage errors come at once.
"""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """
    What the process says to its shell.

    UNKNOWN is "no answer": safe to send again. PENDING is "waiting timed out": the thing goes on.
    """

    OK = 0
    TROUBLE = 1
    USAGE = 2
    NOT_FOUND = 3
    NOT_ALLOWED = 4
    CONFLICT = 5
    UNKNOWN = 6
    PENDING = 7
    FAILED = 8
    CANCELLED = 9
    UNCERTAIN = 10
    REFUTED = 11
    WOULD_CHANGE = 12
    OURS = 125
    DETACHED = 130


MEANINGS: dict[Exit, str] = {
    Exit.OK: "done as asked; for `run` and `wait`: the job succeeded, or is as wished",
    Exit.TROUBLE: "failed otherwise; `doctor`: found trouble",
    Exit.USAGE: "usage, validation, or a question that could not be asked: nothing was sent or stored",
    Exit.NOT_FOUND: "no such thing",
    Exit.NOT_ALLOWED: "not signed in, or not allowed",
    Exit.CONFLICT: "conflict: not possible in this phase, key re-used, revision moved",
    Exit.UNKNOWN: "no answer, or not now; outcome unknown here, safe to send again with the printed request id",
    Exit.PENDING: "waiting timed out; the job goes on",
    Exit.FAILED: "the job ended failed",
    Exit.CANCELLED: "the job ended cancelled",
    Exit.UNCERTAIN: "the job is uncertain and needs a person",
    Exit.REFUTED: "a claim was refuted",
    Exit.WOULD_CHANGE: "`plan --exit-code` only: it would change something",
    Exit.OURS: "under `--pass-exit-code`: Standfast's own trouble, not the job's code",
    Exit.DETACHED: "Ctrl-C; the job goes on",
}

_OUTCOMES = {
    "succeeded": Exit.OK,
    "failed": Exit.FAILED,
    "cancelled": Exit.CANCELLED,
    "uncertain": Exit.UNCERTAIN,
}


class Quit(Exception):
    """
    End the command with this code, after saying `message` on stderr.
    """

    def __init__(self, code: Exit, message: str, *, name: str = "usage", hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.name = name
        self.hint = hint


def exit_of_phase(phase: str) -> Exit:
    """
    The code for a job that is waited for no longer; a phase that is not an end counts as pending.
    """
    return _OUTCOMES.get(phase, Exit.PENDING)
