"""
The job as it is stored: phases, and the record that the machine folds events into.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

import msgspec

from standfast.core.job.attempt import Attempt, AttemptEnd, StopCause
from standfast.core.job.spec import Spec


class Phase(StrEnum):
    """
    Where a job is in its life; ours, never an engine's word.
    """

    QUEUED = "queued"
    LAUNCHING = "launching"
    RUNNING = "running"
    STOPPING = "stopping"
    BACKING_OFF = "backing_off"
    SUSPENDED = "suspended"
    UNCERTAIN = "uncertain"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def final(self) -> bool:
        """
        Whether no arrow leads out of it.
        """
        return self in FINAL

    @property
    def holds_slot(self) -> bool:
        """
        Whether something of the job may be alive on its engine, so that it counts against limits.
        """
        return self in HOLDS_SLOT


FINAL = frozenset({Phase.SUCCEEDED, Phase.FAILED, Phase.CANCELLED})
HOLDS_SLOT = frozenset({Phase.LAUNCHING, Phase.RUNNING, Phase.STOPPING, Phase.UNCERTAIN})


class Outcome(StrEnum):
    """
    The final verdict on a job; absent until there is one.
    """

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Doubt(StrEnum):
    """
    Why a job is uncertain.

    SUBMIT_UNANSWERED: the launch was sent and no answer came. ABSENCE_UNPROVEN: it is not listed, but that proves
    nothing yet. ENGINE_FORGOT: the engine lives a new life, or dropped what it had known. STOP_UNCONFIRMED: asked to
    stop, its death not confirmed in time. GONE_UNPROVEN: it ended, but something of it may be alive.
    OUTCOME_UNKNOWN: it ended, and nothing tells how.
    """

    SUBMIT_UNANSWERED = "SubmitUnanswered"
    ABSENCE_UNPROVEN = "AbsenceUnproven"
    ENGINE_FORGOT = "EngineForgot"
    STOP_UNCONFIRMED = "StopUnconfirmed"
    GONE_UNPROVEN = "GoneUnproven"
    OUTCOME_UNKNOWN = "OutcomeUnknown"


class Uncertain(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """
    What is not known: the doubt, since when, in words; the stop under way, and the end so far as known, if any.
    """

    doubt: Doubt
    since: datetime
    message: str
    cause: StopCause | None = None
    end: AttemptEnd | None = None


class Job(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """
    One piece of work for one engine, with every attempt at it.

    revision grows by one with every event. request_id and digest identify the command that made it. wake_at: when to
    take a turn though nothing was heard; None: never. backoff_s counts from phase_since.
    """

    uid: str
    namespace: str
    name: str
    request_id: str
    digest: str
    spec: Spec
    created_at: datetime
    created_by: str
    revision: int
    phase: Phase
    phase_since: datetime
    updated_at: datetime
    labels: Mapping[str, str] = {}
    retry_of: str | None = None
    attempts: tuple[Attempt, ...] = ()
    backoff_s: float | None = None
    uncertain: Uncertain | None = None
    because: str | None = None
    outcome: Outcome | None = None
    finished_at: datetime | None = None
    compute_removed_at: datetime | None = None
    logs_removed_at: datetime | None = None
    wake_at: datetime | None = None

    @property
    def attempt(self) -> Attempt:
        """
        The latest attempt; only to be asked of a job that has one.
        """
        return self.attempts[-1]
