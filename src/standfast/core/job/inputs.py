"""
All that can reach a job: commands, observations, time. A closed union, so that `decide` can be total over it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Literal

import msgspec

from standfast.core.job.observation import Absent, Ended, Present, Refused, Unreachable
from standfast.core.job.spec import Spec
from standfast.core.job.state import Outcome


class Submit(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """
    Accept this work under this uid; the uid was chosen before, so that a replay makes the same job.
    """

    uid: str
    namespace: str
    name: str
    request_id: str
    digest: str
    spec: Spec
    by: str
    labels: Mapping[str, str] = {}
    retry_of: str | None = None


class Cancel(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """
    End it, whatever it does; done when its death is confirmed.
    """

    by: str
    reason: str | None = None


class Suspend(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """
    Stop what runs and start nothing until resumed.
    """

    by: str
    reason: str | None = None


class Resume(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """
    Let a suspended job wait for its turn again.
    """

    by: str


class Resolve(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """
    A person's word on an uncertain job, recorded as such.

    answer: `absent` (nothing of the attempt is alive), `present` (it runs), `done` (it ended with `outcome`).
    """

    by: str
    answer: Literal["absent", "present", "done"]
    because: str
    outcome: Outcome | None = None


class Admit(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """
    It is this job's turn: there is a slot, and the engine lives in this incarnation.
    """

    incarnation: str


class Outage(msgspec.Struct, frozen=True, gc=False):
    """
    A time in which no control plane ran, from its last sign of life to the next start.
    """

    begin: datetime
    end: datetime


class Due(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """
    Time has passed. outages: when nobody was there to act, so that waiting then is not held against the job.
    """

    outages: tuple[Outage, ...] = ()


class Remainder(StrEnum):
    """
    What is left of a finished job, each with its own time to live.
    """

    COMPUTE = "compute"
    LOGS = "logs"
    RECORD = "record"


class Removed(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """
    A remainder of a finished job was removed.
    """

    what: Remainder


Command = Submit | Cancel | Suspend | Resume | Resolve
Input = Command | Admit | Due | Removed | Absent | Present | Ended | Refused | Unreachable
