"""
SQLite's errors as the few a caller can tell apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from standfast.core.errors import IllegalTransition, StandfastError, Unavailable
from standfast.wire.stored import UnreadableRecord

# Source: "Result and Error Codes", sqlite.org/rescode.html; the classes are apsw's, one per primary code.
_TOLD: tuple[tuple[tuple[type[Exception], ...], str, str | None], ...] = (
    ((apsw.FullError,), "store_full", "Free some space on the store's disk; nothing else needs to be done."),
    (
        (apsw.CorruptError, apsw.NotADBError, UnreadableRecord),
        "store_corrupt",
        "Stop, keep a copy of the file as it is, and restore a backup.",
    ),
    ((apsw.BusyError, apsw.LockedError), "store_busy", "Another program has locked the file; close it."),
    ((apsw.Error, OSError), "store_unavailable", None),
)

READ_ERRORS = (apsw.Error, OSError, UnreadableRecord)
"""What reading the file may raise."""


def told(error: Exception) -> Exception:
    """
    The error to raise in place of one of apsw's, of the system's, or of an unreadable record; others as they are.
    """
    if isinstance(error, StandfastError | IllegalTransition):
        return error
    if isinstance(error, apsw.ConstraintError):
        return IllegalTransition(f"the store refuses what no machine makes: {error}")
    for kinds, code, hint in _TOLD:
        if isinstance(error, kinds):
            return Unavailable(f"the store failed: {error}", code=code, hint=hint)
    return error


@contextmanager
def telling() -> Iterator[None]:
    """
    Raise `told` for whatever goes wrong inside.
    """
    try:
        yield
    except READ_ERRORS as error:
        raise told(error) from error
