"""
Evidence: what a claim rests on, ranked by how far it can be trusted.

Belongs here: ranks, verdicts, findings (what one source says about an end) and evidence (what is kept of it).
"""

from __future__ import annotations

from datetime import datetime
from enum import IntEnum, StrEnum

import msgspec

from standfast.core.failure import Failure, Symptoms

RAW_CHARS_MAX = 2000
"""Of a source that is kept in a job's record."""


class Verdict(StrEnum):
    """
    How a claim stands; there is no fifth answer and no default.
    """

    PROVEN = "proven"
    REFUTED = "refuted"
    UNKNOWN = "unknown"
    NOT_CHECKED = "not_checked"


class Rank(IntEnum):
    """
    Strength of a source about an attempt's end, strongest highest.

    RECEIPT: the attempt's own record, written atomically by our runner. EXIT_STATUS: the kernel's. END_REPORT: the
    engine's typed report. STATUS_WORD: the engine's status. TEXT: a pattern in output. PERSON: someone's word, which
    decides only where nothing else can.
    """

    PERSON = 0
    TEXT = 1
    STATUS_WORD = 2
    END_REPORT = 3
    EXIT_STATUS = 4
    RECEIPT = 5


class Ending(StrEnum):
    """
    How one attempt ended, as one source tells it or as it was decided.

    TERMINATED: it obeyed a signal. NEVER_RAN: proven that no user code ran. SUSPENDED, CANCELLED: we stopped it.
    """

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TERMINATED = "terminated"
    NEVER_RAN = "never_ran"
    SUSPENDED = "suspended"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class Finding(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """
    What one source says about the end of an attempt.

    failure: the engine's classification by its own rules; symptoms: the facts, so that a job's own rules can say
    otherwise. raw: the source, verbatim; in a record at most `RAW_CHARS_MAX` characters, its end. blob: the name of the
    whole, where that is longer.
    """

    rank: Rank
    ending: Ending
    source: str
    failure: Failure | None = None
    symptoms: Symptoms | None = None
    raw: str | None = None
    blob: str | None = None


class Evidence(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """
    One claim about an attempt with how it stands, where that comes from, and when it was seen.
    """

    claim: str
    verdict: Verdict
    source: str
    at: datetime
    rank: Rank | None = None
    detail: str | None = None
    raw: str | None = None
    blob: str | None = None
