"""
What a job says about itself is complete and true.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import msgspec
import pytest

from standfast.core.errors import Rejected
from standfast.core.job.attempt import StopCause
from standfast.core.job.explain import REASONS, Waiting, moves, next_of, settles, why
from standfast.core.job.inputs import Cancel, Resume, Suspend
from standfast.core.job.machine import decide
from standfast.core.job.observation import RunState
from standfast.core.job.state import Doubt, Job, Outcome, Phase
from standfast.testing import builders as b

EXAMPLES: dict[tuple[Phase, str], Callable[[], Job]] = {
    (Phase.QUEUED, "AwaitingTurn"): lambda: b.job(Phase.QUEUED),
    (Phase.QUEUED, "StartTimeAhead"): lambda: b.job(Phase.QUEUED, start_at=b.START + timedelta(hours=1)),
    (Phase.LAUNCHING, "AwaitingAnswer"): lambda: b.job(Phase.LAUNCHING),
    (Phase.LAUNCHING, "Starting"): lambda: b.told(b.job(Phase.LAUNCHING), b.present(state=RunState.STARTING)),
    (Phase.RUNNING, "Running"): lambda: b.job(Phase.RUNNING),
    (Phase.RUNNING, "ContactLost"): lambda: b.told(b.job(Phase.RUNNING), b.unreachable()),
    (Phase.STOPPING, "CancelRequested"): lambda: b.job(Phase.STOPPING, cause=StopCause.CANCEL),
    (Phase.STOPPING, "SuspendRequested"): lambda: b.job(Phase.STOPPING, cause=StopCause.SUSPEND),
    (Phase.STOPPING, "DeadlinePassed"): lambda: b.job(Phase.STOPPING, cause=StopCause.DEADLINE),
    (Phase.STOPPING, "StartDeadlinePassed"): lambda: b.job(Phase.STOPPING, cause=StopCause.START_DEADLINE),
    (Phase.STOPPING, "AttemptLost"): lambda: b.job(Phase.STOPPING, cause=StopCause.LOST),
    (Phase.BACKING_OFF, "RetryBackoff"): lambda: b.job(Phase.BACKING_OFF),
    (Phase.SUSPENDED, "Suspended"): lambda: b.job(Phase.SUSPENDED),
    (Phase.UNCERTAIN, "SubmitUnanswered"): lambda: b.job(Phase.UNCERTAIN, doubt=Doubt.SUBMIT_UNANSWERED),
    (Phase.UNCERTAIN, "AbsenceUnproven"): lambda: b.job(Phase.UNCERTAIN, doubt=Doubt.ABSENCE_UNPROVEN),
    (Phase.UNCERTAIN, "EngineForgot"): lambda: b.job(Phase.UNCERTAIN, doubt=Doubt.ENGINE_FORGOT),
    (Phase.UNCERTAIN, "StopUnconfirmed"): lambda: b.job(Phase.UNCERTAIN, doubt=Doubt.STOP_UNCONFIRMED),
    (Phase.UNCERTAIN, "GoneUnproven"): lambda: b.job(Phase.UNCERTAIN, doubt=Doubt.GONE_UNPROVEN),
    (Phase.UNCERTAIN, "OutcomeUnknown"): lambda: b.job(Phase.UNCERTAIN, doubt=Doubt.OUTCOME_UNKNOWN),
    (Phase.SUCCEEDED, "Succeeded"): lambda: b.job(Phase.SUCCEEDED),
    (Phase.FAILED, "Failed"): lambda: b.job(Phase.FAILED),
    (Phase.CANCELLED, "Cancelled"): lambda: b.job(Phase.CANCELLED),
}
COMMANDS = {
    "cancel": Cancel(by="bob"),
    "suspend": Suspend(by="bob"),
    "resume": Resume(by="bob"),
    "resolve": b.resolve("done", outcome=Outcome.FAILED),
}


def test_every_reason_has_its_example() -> None:
    """
    The closed list of reasons per phase is exactly what jobs can say.
    """
    assert set(EXAMPLES) | {(Phase.QUEUED, "EngineUnreachable")} == {
        (phase, reason) for phase, reasons in REASONS.items() for reason in reasons
    }
    assert set(REASONS) == set(Phase)


@pytest.mark.parametrize(("phase", "reason"), list(EXAMPLES))
def test_every_reason_comes_with_a_sentence(phase: Phase, reason: str) -> None:
    """
    A job in its phase for that reason says so, with a message, since when, and what it needs.
    """
    job = EXAMPLES[phase, reason]()
    told = why(job)

    assert (job.phase, told.reason) == (phase, reason)
    assert len(told.message) > 5 and "None" not in told.message
    assert b.START <= told.since <= job.updated_at
    assert told.needs in ("nothing", "proof", "person")


@pytest.mark.parametrize(("phase", "reason"), list(EXAMPLES))
def test_every_doubt_says_what_would_settle_it(phase: Phase, reason: str) -> None:
    """
    A job in doubt has at least one line of what would settle it, and one without doubt has none.
    """
    lines = settles(EXAMPLES[phase, reason]())

    assert bool(lines) == (phase is Phase.UNCERTAIN or reason == "ContactLost")
    if phase is Phase.UNCERTAIN:
        assert any("resolve" in line for line in lines)


@pytest.mark.parametrize(("phase", "reason"), list(EXAMPLES))
def test_moves_agree_with_what_is_decided(phase: Phase, reason: str) -> None:
    """
    A verb is offered exactly if its command would do something; what is refused says why in the refusal's own words.
    """
    job = msgspec.structs.replace(EXAMPLES[phase, reason](), uid=f"job_of_{reason}")
    told = {move.verb: move for move in moves(job)}

    assert set(told) == {*COMMANDS, "retry", "delete"}
    for verb, command in COMMANDS.items():
        try:
            does, refusal = bool(decide(job, command, job.updated_at)), None
        except Rejected as refused:
            does, refusal = False, refused.message
        assert told[verb].allowed == does
        assert refusal in (None, told[verb].why)
    assert told["retry"].allowed == told["delete"].allowed == phase.final
    assert all(move.allowed or move.why for move in told.values())


def test_a_cancel_in_doubt_is_not_offered_to_be_suspended() -> None:
    """
    An accepted cancel stands, also once its confirmation is in doubt; a doubt about another stop may be suspended.
    """
    by_cancel = b.job(Phase.UNCERTAIN, doubt=Doubt.STOP_UNCONFIRMED, cause=StopCause.CANCEL)
    by_deadline = b.job(Phase.UNCERTAIN, doubt=Doubt.STOP_UNCONFIRMED, cause=StopCause.DEADLINE)

    offered = [{m.verb: m.allowed for m in moves(job)}["suspend"] for job in (by_cancel, by_deadline)]
    assert offered == [False, True]


@pytest.mark.parametrize("phase", list(Phase))
def test_what_comes_next_is_said_until_the_end(phase: Phase) -> None:
    """
    Every phase says what happens next by itself, with its wake time; final phases say nothing.
    """
    job = b.job(phase)
    ahead = next_of(job)

    assert (ahead is None) == phase.final
    if ahead is not None:
        assert ahead.action and ahead.at == job.wake_at


def test_a_queued_job_whose_engine_cannot_be_asked_says_so() -> None:
    """
    A slot that is free is no comfort while the engine does not answer.
    """
    told = why(b.job(Phase.QUEUED), Waiting(limit="engine fake", slots=4, active=0, trouble="connection refused"))

    assert (told.reason, told.needs) == ("EngineUnreachable", "proof")
    assert "connection refused" in told.message


def test_a_queued_job_names_the_limit_and_its_place() -> None:
    """
    The runtime's count of who holds the slots is in the message.
    """
    told = why(b.job(Phase.QUEUED), Waiting(limit="queue etl", slots=4, active=4, ahead=7))

    assert told.message == "4 of 4 slots of queue etl in use, 7 before it"
