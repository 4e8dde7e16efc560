"""
The machine under random inputs: what holds whatever reaches a job, in whatever order.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from standfast.core.errors import Rejected
from standfast.core.failure import FailureClass
from standfast.core.job.actions import AwaitTurn, Halt, Launch, Look, Remove, Rest
from standfast.core.job.attempt import EVIDENCE_MAX, handle_of, uid_and_number
from standfast.core.job.evidence import Ending, Verdict
from standfast.core.job.explain import moves, next_of, settles, why
from standfast.core.job.inputs import Admit, Cancel, Due, Input, Outage, Remainder, Removed, Resume, Suspend
from standfast.core.job.machine import plan, step
from standfast.core.job.observation import RunState
from standfast.core.job.spec import Ttl
from standfast.core.job.state import Job, Outcome, Phase
from standfast.core.retry import RetryPolicy
from standfast.testing import builders as b

LIVES = st.sampled_from(["life-1", "life-1", "life-1", "life-2"])
GONE = st.sampled_from(list(Verdict))
CLASSES = st.sampled_from(list(FailureClass))
INPUTS: st.SearchStrategy[Callable[[datetime], Input]] = st.one_of(
    st.just(lambda at: Admit(incarnation="life-1")),
    st.just(lambda at: Cancel(by="ann")),
    st.just(lambda at: Suspend(by="ann")),
    st.just(lambda at: Resume(by="ann")),
    st.builds(lambda out: lambda at: Due(outages=(Outage(at, at),) if out else ()), st.booleans()),
    st.builds(lambda what: lambda at: Removed(what=what), st.sampled_from(list(Remainder))),
    st.builds(lambda a: lambda at: b.resolve(a), st.sampled_from(["absent", "present"])),
    st.builds(lambda o: lambda at: b.resolve("done", outcome=o), st.sampled_from(list(Outcome))),
    st.builds(
        lambda life, proven, final: lambda at: b.absent(at, incarnation=life, proven=proven, final=final),
        LIVES,
        st.booleans(),
        st.booleans(),
    ),
    st.builds(lambda s: lambda at: b.present(at, state=s), st.sampled_from(list(RunState))),
    st.builds(lambda g, s: lambda at: b.ended(at, gone=g, stopped=s), GONE, st.booleans()),
    st.builds(lambda c, g: lambda at: b.failed(at, c, gone=g), CLASSES, GONE),
    st.builds(lambda g: lambda at: b.ended(at, b.finding(Ending.TERMINATED), gone=g, stopped=True), GONE),
    st.builds(lambda c: lambda at: b.refused(at, c), CLASSES),
    st.just(b.unreachable),
)
STEPS = st.lists(st.tuples(INPUTS, st.sampled_from([0.0, 0.5, 5.0, 61.0, 700.0])), max_size=40)


def _holds(before: Job, after: Job) -> None:
    """
    The invariants of one step.
    """
    assert [a.number for a in after.attempts] == list(range(1, len(after.attempts) + 1))
    assert [a.handle for a in after.attempts] == [handle_of(after.uid, a.number) for a in after.attempts]
    assert len(after.attempts) - len(before.attempts) in (0, 1)
    for old, new in zip(before.attempts, after.attempts, strict=False):
        if old.closed_at is not None:
            assert msgspec.json.encode(old) == msgspec.json.encode(new)
    assert all(a.closed_at is not None for a in after.attempts[:-1])
    assert all(len(a.evidence) <= EVIDENCE_MAX for a in after.attempts)
    if before.phase.final:
        assert (after.phase, after.outcome, after.attempts) == (before.phase, before.outcome, before.attempts)
    assert (after.outcome is not None) == after.phase.final == (after.finished_at is not None)
    assert (after.uncertain is not None) == (after.phase is Phase.UNCERTAIN)
    if after.phase is Phase.STOPPING:
        assert after.attempt.stop is not None
    if after.phase.holds_slot:
        assert after.attempts and after.attempt.closed_at is None
    elif after.attempts:
        assert after.attempt.closed_at is not None


@settings(max_examples=400, deadline=None)
@given(steps=STEPS, suspend=st.booleans(), max_attempts=st.integers(1, 4))
def test_invariants_hold_under_random_inputs(
    steps: list[tuple[Callable[[datetime], Input], float]], suspend: bool, max_attempts: int
) -> None:
    """
    Attempts are gap-free and closed ones never change, final is final, and every job can be explained at any time.
    """
    policy = RetryPolicy(max_attempts=max_attempts, backoff_base_s=1.0)
    asked = b.spec(suspend=suspend, retry=policy, deadline_s=900.0, start_deadline_s=100.0, ttl=Ttl(record_s=60.0))
    job, now = b.told(None, b.submit(asked)), b.START
    for make, wait_s in steps:
        now += timedelta(seconds=wait_s)
        try:
            taken = step(job, make(now), now)
        except Rejected:
            continue
        _holds(job, taken.after)
        job = taken.after
        assert taken.after.revision - (taken.before.revision if taken.before else 0) == len(taken.events)
        assert why(job).message and moves(job) is not None
        assert (next_of(job) is None) == job.phase.final
        assert bool(settles(job)) >= (job.phase is Phase.UNCERTAIN)


@settings(max_examples=200, deadline=None)
@given(steps=STEPS)
def test_launch_is_asked_for_only_by_the_step_that_crossed(
    steps: list[tuple[Callable[[datetime], Input], float]],
) -> None:
    """
    A stored job never says `launch`: whoever reads it looks first, which is all that a restart needs.
    """
    job, now = b.told(None, b.submit()), b.START
    for make, wait_s in steps:
        now += timedelta(seconds=wait_s)
        try:
            taken = step(job, make(now), now)
        except Rejected:
            continue
        job = taken.after
        crossed = {type(event).__name__ for event in taken.events} & {"LaunchBegun", "LaunchRepeated"}
        assert isinstance(taken.action, Launch) == bool(crossed)
        assert not isinstance(plan(job, now), Launch)


PLANS = {
    Phase.QUEUED: AwaitTurn,
    Phase.LAUNCHING: Look,
    Phase.RUNNING: Look,
    Phase.STOPPING: Halt,
    Phase.BACKING_OFF: Rest,
    Phase.SUSPENDED: Rest,
    Phase.UNCERTAIN: Look,
    Phase.SUCCEEDED: Rest,
    Phase.FAILED: Rest,
    Phase.CANCELLED: Rest,
}


def test_the_plan_follows_from_the_phase() -> None:
    """
    What must be done next is derived from the stored job alone, for every phase.
    """
    assert {phase: type(plan(b.job(phase), b.START)) for phase in Phase} == PLANS
    doubted = b.job(Phase.UNCERTAIN, doubt=b.Doubt.STOP_UNCONFIRMED)
    assert isinstance(plan(doubted, b.START), Halt)
    finished = b.job(Phase.SUCCEEDED, ttl=Ttl(compute_s=0.0))
    assert plan(finished, finished.updated_at) == Remove(Remainder.COMPUTE)


@given(number=st.integers(1, 10**6), uid=st.text("0123456789abcdefghjkmnpqrstvwxyz", min_size=26, max_size=26))
def test_handles_name_their_job(number: int, uid: str) -> None:
    """
    A handle tells its job and attempt, fits every engine's alphabet, and strangers' names are not taken for ours.
    """
    handle = handle_of(f"job_{uid}", number)

    assert uid_and_number(handle) == (f"job_{uid}", number)
    assert len(handle) <= 63 and set(handle) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    for stranger in ("", "sf-", "sf-x-0", "sf-x-01", "driver-1", f"{handle}-", f"x{handle}", f"{handle}\n"):
        assert uid_and_number(stranger) is None


def test_an_attempt_that_leaves_no_trace_is_voided_first() -> None:
    """
    After so many sends without a trace the handle is stopped; only its refusal for good lets another attempt begin.
    """
    job = b.job(Phase.LAUNCHING)
    while job.phase is Phase.LAUNCHING:
        job = b.told(job, b.absent(proven=True))

    assert (job.phase, job.attempt.sends) == (Phase.STOPPING, 5)
    assert b.told(job, b.absent(proven=True)).phase is Phase.STOPPING
    voided = b.told(job, b.absent(proven=True, final=True))
    assert voided.phase is Phase.BACKING_OFF
    assert voided.attempt.ending is Ending.NEVER_RAN
    assert voided.attempt.failure is not None and voided.attempt.failure.code == "left_no_trace"


@pytest.mark.parametrize("phase", [Phase.LAUNCHING, Phase.RUNNING, Phase.UNCERTAIN])
def test_an_absence_from_before_is_no_news(phase: Phase) -> None:
    """
    Absent, looked for before the attempt was last sent or first seen, decides nothing, unless the clock was set back.
    """
    job = b.job(phase)
    sent_at, now = job.attempt.sent_at, job.updated_at + timedelta(seconds=1)
    before = b.absent(sent_at - timedelta(seconds=0.5), proven=True)

    assert step(job, before, now).events == ()
    assert step(job, b.absent(now, proven=True), now).events != ()
    set_back = sent_at - timedelta(seconds=100)
    assert step(job, b.absent(set_back, proven=True), set_back).events != ()


def test_what_an_engine_adds_to_its_word_is_kept_with_the_word() -> None:
    """
    The pids of an orphan are news with the word; another note alone is not; the next word takes the note with it.
    """
    now = b.START + timedelta(minutes=1)
    running = b.job(Phase.RUNNING)
    orphaned = step(running, b.present(now, engine_status="orphaned", note="pids 41, 42"), now).after
    fewer = step(orphaned, b.present(now, engine_status="orphaned", note="pids 42"), now)
    back = step(orphaned, b.present(now, engine_status="RUNNING"), now).after

    assert orphaned.attempt.engine_note == "pids 41, 42"
    assert fewer.events == ()
    assert back.attempt.engine_note is None
