"""
What a job says about itself: why it is as it is, what comes next, which moves it allows, what would settle a doubt.

Pure, beside `plan`, so that API, command line and pages give the same words. Belongs here: reasons and sentences that
follow from the record. Not here: how they are laid out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache

import msgspec

from standfast.core.errors import Rejected
from standfast.core.job.attempt import StopCause
from standfast.core.job.decisions import DECISIONS, Decide
from standfast.core.job.inputs import Cancel, Input, Resolve, Resume, Suspend
from standfast.core.job.machine import decide
from standfast.core.job.state import Doubt, Job, Phase

REASONS: Mapping[Phase, tuple[str, ...]] = {
    Phase.QUEUED: ("AwaitingTurn", "StartTimeAhead", "EngineUnreachable"),
    Phase.LAUNCHING: ("AwaitingAnswer", "Starting"),
    Phase.RUNNING: ("Running", "ContactLost"),
    Phase.STOPPING: (
        "CancelRequested",
        "SuspendRequested",
        "DeadlinePassed",
        "StartDeadlinePassed",
        "AttemptLost",
    ),
    Phase.BACKING_OFF: ("RetryBackoff",),
    Phase.SUSPENDED: ("Suspended",),
    Phase.UNCERTAIN: tuple(doubt.value for doubt in Doubt),
    Phase.SUCCEEDED: ("Succeeded",),
    Phase.FAILED: ("Failed",),
    Phase.CANCELLED: ("Cancelled",),
}
"""The closed list of reasons per phase; documented, never renamed."""

_STOP_REASONS = {
    StopCause.CANCEL: "CancelRequested",
    StopCause.SUSPEND: "SuspendRequested",
    StopCause.DEADLINE: "DeadlinePassed",
    StopCause.START_DEADLINE: "StartDeadlinePassed",
    StopCause.LOST: "AttemptLost",
}


class Waiting(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """
    What a queued job waits for, as the runtime counts it: who holds the slots, and how many stand before it. trouble:
    why its engine cannot be asked just now.
    """

    limit: str
    slots: int
    active: int
    ahead: int | None = None
    trouble: str | None = None


class Why(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """
    The reason for a phase. needs: `nothing`, `proof` (an engine's answer), or `person`.
    """

    reason: str
    message: str
    since: datetime
    needs: str = "nothing"


class Next(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """
    What we do next, and when if that is known.
    """

    action: str
    at: datetime | None = None


class Move(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """
    One verb, whether it is allowed now, and if not, why not.
    """

    verb: str
    allowed: bool
    why: str | None = None


def why(job: Job, waiting: Waiting | None = None) -> Why:
    """
    Why the job is in its phase, in one word and one sentence.
    """
    reason, message, needs = _WHY[job.phase](job, waiting)
    since = job.attempt.contact_lost_at if reason == "ContactLost" else job.phase_since
    return Why(reason=reason, message=message, since=since or job.phase_since, needs=needs)


_Told = tuple[str, str, str]


def _queued(job: Job, waiting: Waiting | None) -> _Told:
    if job.spec.start_at is not None and job.wake_at is not None:
        return "StartTimeAhead", f"not before {job.spec.start_at.isoformat()}", "nothing"
    if waiting is None:
        return "AwaitingTurn", f"waits for its turn in queue {job.spec.queue}", "nothing"
    if waiting.trouble is not None:
        return "EngineUnreachable", f"engine {job.spec.engine} cannot be asked: {waiting.trouble}", "proof"
    place = "" if waiting.ahead is None else f", {waiting.ahead} before it"
    return (
        "AwaitingTurn",
        f"{waiting.active} of {waiting.slots} slots of {waiting.limit} in use{place}",
        "nothing",
    )


def _launching(job: Job, _: Waiting | None) -> _Told:
    attempt = job.attempt
    if attempt.seen_at is not None:
        return (
            "Starting",
            f"the engine has it and is starting it ({attempt.engine_status or 'no detail'})",
            "nothing",
        )
    again = f", send {attempt.sends}" if attempt.sends > 1 else ""
    return "AwaitingAnswer", f"{attempt.handle} was stored, then sent{again}; no answer yet", "proof"


def _running(job: Job, _: Waiting | None) -> _Told:
    attempt = job.attempt
    if attempt.contact_lost_at is not None:
        return "ContactLost", f"the engine does not answer about it: {attempt.contact_lost_because}", "proof"
    return "Running", f"the engine says {attempt.engine_status or 'it is there'}", "nothing"


def _stopping(job: Job, _: Waiting | None) -> _Told:
    stop = job.attempt.stop
    assert stop is not None
    by = f" by {stop.by}" + (f": {stop.reason}" if stop.reason else "")
    return _STOP_REASONS[stop.cause], f"stop asked{by}; waits until nothing of it is alive", "proof"


def _backing_off(job: Job, _: Waiting | None) -> _Told:
    failure = job.attempt.failure
    what = f"{failure.failure_class}: {failure.message}" if failure else "it failed"
    return "RetryBackoff", f"attempt {job.attempt.number} failed ({what}); {job.because}", "nothing"


def _suspended(job: Job, _: Waiting | None) -> _Told:
    return "Suspended", job.because or "suspended", "person"


def _uncertain(job: Job, _: Waiting | None) -> _Told:
    assert job.uncertain is not None
    return job.uncertain.doubt.value, job.uncertain.message, "proof"


def _succeeded(job: Job, _: Waiting | None) -> _Told:
    return "Succeeded", f"attempt {job.attempt.number} succeeded", "nothing"


def _failed(job: Job, _: Waiting | None) -> _Told:
    failure = job.attempt.failure
    what = f"{failure.failure_class} ({failure.code}): {failure.message}" if failure else "no detail"
    return "Failed", f"{what}; {job.because}", "nothing"


def _cancelled(job: Job, _: Waiting | None) -> _Told:
    return "Cancelled", job.because or "cancelled", "nothing"


_WHY: Mapping[Phase, Callable[[Job, Waiting | None], _Told]] = {
    Phase.QUEUED: _queued,
    Phase.LAUNCHING: _launching,
    Phase.RUNNING: _running,
    Phase.STOPPING: _stopping,
    Phase.BACKING_OFF: _backing_off,
    Phase.SUSPENDED: _suspended,
    Phase.UNCERTAIN: _uncertain,
    Phase.SUCCEEDED: _succeeded,
    Phase.FAILED: _failed,
    Phase.CANCELLED: _cancelled,
}

_NEXT: Mapping[Phase, str] = {
    Phase.QUEUED: "launch when it is its turn",
    Phase.LAUNCHING: "look for it on the engine",
    Phase.RUNNING: "watch it",
    Phase.STOPPING: "repeat the stop, and look whether it is gone",
    Phase.BACKING_OFF: "put it back into its queue",
    Phase.SUSPENDED: "wait for resume",
    Phase.UNCERTAIN: "look again",
}


def next_of(job: Job) -> Next | None:
    """
    What happens next without anyone's doing; None once the job is final.
    """
    if job.phase.final:
        return None
    if job.wake_at is None:
        return _next(job.phase)
    action = _NEXT[job.phase]
    if job.phase is Phase.RUNNING:
        action = "stop it at its deadline, unless it ends before"
    return Next(action=action, at=job.wake_at)


@cache
def _next(phase: Phase) -> Next:
    return Next(action=_NEXT[phase])


_COMMANDS: Mapping[str, Input] = {
    "cancel": Cancel(by=""),
    "suspend": Suspend(by=""),
    "resume": Resume(by=""),
    "resolve": Resolve(by="", answer="present", because="asked for its moves"),
}


def moves(job: Job) -> tuple[Move, ...]:
    """
    Every verb a person might want, each with whether it would do anything now; asked of `decide`, so never wrong.
    """
    return (*[_move(job, *row) for row in _rows(job.phase)], *_after_the_end(job.phase))


@cache
def _rows(phase: Phase) -> tuple[tuple[str, Input, Decide | None], ...]:
    """
    Each verb with its command, and with the row that `decide` finds for it in that phase.
    """
    return tuple((verb, command, DECISIONS.get((phase, type(command)))) for verb, command in _COMMANDS.items())


def _move(job: Job, verb: str, command: Input, decision: Decide | None) -> Move:
    if decision is None:
        return Move(verb=verb, allowed=False, why=_refusal(job, verb, command))
    try:
        does = decision(job, command, job.updated_at)
    except Rejected as refused:
        return Move(verb=verb, allowed=False, why=refused.message)
    return _useful(verb) if does else _useless(job.phase, verb)


_refusals: dict[tuple[Phase, str], str] = {}
_UID = "{uid}"


def _refusal(job: Job, verb: str, command: Input) -> str:
    """
    What `decide` says to a command that has no row. Only the uid in it differs from job to job, so it is asked once per
    phase and verb: every answer about a job holds its moves, and raising costs more than all the rest of them.
    """
    told = _refusals.get((job.phase, verb))
    if told is None:
        try:
            decide(msgspec.structs.replace(job, uid=_UID), command, job.updated_at)
        except Rejected as refused:
            told = refused.message
        assert told is not None
        _refusals[job.phase, verb] = told
    return told.replace(_UID, job.uid)


@cache
def _useful(verb: str) -> Move:
    return Move(verb=verb, allowed=True)


@cache
def _useless(phase: Phase, verb: str) -> Move:
    return Move(verb=verb, allowed=False, why=f"it would change nothing: it is {phase}")


@cache
def _after_the_end(phase: Phase) -> tuple[Move, ...]:
    """
    The verbs of finished jobs.
    """
    unfinished = None if phase.final else f"it is {phase}, not finished"
    return tuple(Move(verb=verb, allowed=unfinished is None, why=unfinished) for verb in ("retry", "delete"))


def settles(job: Job) -> tuple[str, ...]:
    """
    What would settle the job's doubt, strongest first; empty when there is no doubt. At least one line per reason.
    """
    doubted = job.phase is Phase.UNCERTAIN or (job.attempts and job.attempt.contact_lost_at is not None)
    if not doubted:
        return ()
    if job.uncertain is None:
        return (
            "the engine answers again: its word decides",
            "a receipt or an exit status of the attempt is found",
        )
    attempt = job.attempt
    found = f"{attempt.handle} is listed by the engine: adopted"
    ended = f"a receipt, an exit status or an end report of {attempt.handle} is found: it decides"
    absent = f"{attempt.handle} is proven absent by the engine life {attempt.incarnation}: sent again"
    lost = f"{attempt.handle} is proven absent by the engine life {attempt.incarnation}: the attempt counts as lost"
    gone = f"nothing of {attempt.handle} is alive any more, confirmed by the engine"
    person = "a person says so: resolve --as absent | present | done, with the reason"
    match job.uncertain.doubt:
        case Doubt.SUBMIT_UNANSWERED | Doubt.ABSENCE_UNPROVEN:
            return (found, ended, absent if attempt.seen_at is None else lost, person)
        case Doubt.ENGINE_FORGOT:
            return (found, ended, person)
        case Doubt.OUTCOME_UNKNOWN:
            receipt = f"a receipt of {attempt.handle} is found: it decides"
            return (receipt, "a person says how it ended: resolve --as done --outcome succeeded | failed", person)
        case Doubt.STOP_UNCONFIRMED | Doubt.GONE_UNPROVEN:
            return (gone, ended, person)
