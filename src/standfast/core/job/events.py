"""
What can happen to a job: facts in the past tense, each moving it along one arrow of the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from standfast.core.job.attempt import Attempt, AttemptEnd, StopCause
from standfast.core.job.inputs import Remainder
from standfast.core.job.spec import Spec
from standfast.core.job.state import Doubt, Outcome


class _Fact(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag=True):
    """
    Base of all events; the tag is the class name and is stored, so a name is never re-used.
    """


class Submitted(_Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag=True):
    """
    The work was accepted and is durable. spec is None in the stored event: the job's record keeps it.
    """

    uid: str
    namespace: str
    name: str
    request_id: str
    digest: str
    by: str
    spec: Spec | None
    labels: Mapping[str, str] = {}
    retry_of: str | None = None


class LaunchBegun(_Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag=True):
    """
    The write boundary: from here on, something named by the handle may exist outside.
    """

    attempt: Attempt


class LaunchRepeated(_Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag=True):
    """
    The handle is proven absent, so the same bytes are sent again.
    """

    because: str


class Started(_Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag=True):
    """
    The engine shows the attempt alive.
    """

    engine_status: str | None = None
    engine_ref: str | None = None
    note: str | None = None
    started_at: datetime | None = None
    source: str


class StatusChanged(_Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag=True):
    """
    The engine's own word, or its id for the attempt, changed; our phase did not.
    """

    engine_status: str | None = None
    engine_ref: str | None = None
    note: str | None = None
    started_at: datetime | None = None
    source: str


class ContactLost(_Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag=True):
    """
    The engine does not answer about a running attempt. Nothing is concluded from that.
    """

    reason: str
    source: str


class ContactRegained(_Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag=True):
    """
    The engine answers again, and the attempt is still there.
    """

    source: str


class StopRequested(_Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag=True):
    """
    The attempt shall end, for this cause.
    """

    cause: StopCause
    by: str
    reason: str | None = None


class BecameUncertain(_Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag=True):
    """
    What the engine says settles nothing; we do not act until something does. end: the attempt's end so far as known.
    """

    doubt: Doubt
    message: str
    source: str
    end: AttemptEnd | None = None


class Resolved(_Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag=True):
    """
    A person settled a doubt by their word.
    """

    by: str
    answer: str
    because: str
    outcome: Outcome | None = None


class RetryScheduled(_Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag=True):
    """
    The attempt failed and is confirmed gone; another follows after delay_s seconds.
    """

    end: AttemptEnd
    delay_s: float
    because: str


class BackoffElapsed(_Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag=True):
    """
    The wait is over; the job stands in its queue again.
    """


class Suspended(_Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag=True):
    """
    Nothing runs, and nothing starts until resumed. end: how the stopped attempt ended, if one ran.
    """

    by: str
    end: AttemptEnd | None = None


class Resumed(_Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag=True):
    """
    The job stands in its queue again.
    """

    by: str


class Succeeded(_Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag=True):
    """
    Final: the work is done.
    """

    end: AttemptEnd


class Failed(_Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag=True):
    """
    Final: the work failed, and no further attempt follows, because.
    """

    end: AttemptEnd
    because: str


class Cancelled(_Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag=True):
    """
    Final: ended at someone's request, and nothing of it is alive.
    """

    by: str
    reason: str | None = None
    end: AttemptEnd | None = None


class RemainderRemoved(_Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag=True):
    """
    Compute or logs of the finished job were removed, as its TTL says.
    """

    what: Remainder


Event = (
    Submitted
    | LaunchBegun
    | LaunchRepeated
    | Started
    | StatusChanged
    | ContactLost
    | ContactRegained
    | StopRequested
    | BecameUncertain
    | Resolved
    | RetryScheduled
    | BackoffElapsed
    | Suspended
    | Resumed
    | Succeeded
    | Failed
    | Cancelled
    | RemainderRemoved
)


def kept(event: Event) -> Event:
    """
    The event as a store keeps it: without what the job's record keeps unchanged for good, its spec and its evidence.
    """
    match event:
        case Submitted():
            return msgspec.structs.replace(event, spec=None)
        case Succeeded() | Failed() | RetryScheduled():
            return msgspec.structs.replace(event, end=msgspec.structs.replace(event.end, evidence=()))
        case Suspended(end=AttemptEnd() as end) | Cancelled(end=AttemptEnd() as end):
            return msgspec.structs.replace(event, end=msgspec.structs.replace(end, evidence=()))
    return event
