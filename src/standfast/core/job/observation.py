"""
What an engine's answer amounts to; absent, present and unreachable are three different things.

Belongs here: the closed union that every engine translates its own words into. An observation is a level: the same
one twice adds nothing.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from standfast.core.failure import Failure
from standfast.core.job.evidence import Finding, Verdict


class _Seen(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag=True):
    """
    Common to all: when it was asked, and by which call.
    """

    at: datetime
    by: str


class Absent(_Seen, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag=True):
    """
    The engine answered, and does not know the handle.

    proven: nothing of the attempt is alive and, in this incarnation, a send of the handle after `quiet_s` seconds of
    silence since the last one cannot make two. final: the engine will refuse the handle from now on.
    """

    incarnation: str
    proven: bool = False
    quiet_s: float = 0.0
    final: bool = False


class RunState(StrEnum):
    """
    How far a present attempt is. ORPHANED: alive, but nobody will record its exit.
    """

    STARTING = "starting"
    RUNNING = "running"
    ENDING = "ending"
    ORPHANED = "orphaned"


class Present(_Seen, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag=True):
    """
    The attempt exists and has not ended; engine_status is the engine's word, engine_ref its own id. note: what a person
    may want to know beside the word; a change of the note alone is no news.
    """

    incarnation: str
    state: RunState = RunState.RUNNING
    engine_status: str | None = None
    engine_ref: str | None = None
    started_at: datetime | None = None
    note: str | None = None


class Ended(_Seen, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag=True):
    """
    The attempt has ended. gone: whether nothing of it is alive. stopped: a request to stop had reached it before.
    """

    incarnation: str
    findings: tuple[Finding, ...]
    gone: Verdict
    gone_source: str
    stopped: bool = False
    engine_status: str | None = None
    engine_ref: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None


class Refused(_Seen, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag=True):
    """
    The engine answered a launch with no: proven that nothing of the attempt ran or ever will under this handle.
    """

    failure: Failure


class Unreachable(_Seen, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag=True):
    """
    No answer, or none that says anything. Knows nothing, and so decides nothing.
    """

    reason: str


Observation = Absent | Present | Ended | Refused | Unreachable
