"""
Time: what it moves, when a job asks to be looked at, and what an outage does not count for.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from standfast.core.job import timers
from standfast.core.job.attempt import StopCause
from standfast.core.job.inputs import Admit, Due, Outage
from standfast.core.job.machine import step
from standfast.core.job.spec import Ttl
from standfast.core.job.state import Job, Phase
from standfast.testing import builders as b


def _s(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)


def _due(job: Job, at: datetime, *outages: Outage) -> tuple[str, ...]:
    return tuple(type(event).__name__ for event in step(job, Due(outages=outages), at).events)


@pytest.mark.parametrize(
    ("outages", "waited_s"),
    [
        ([], 100),
        ([(10, 30)], 80),
        ([(-50, 20)], 80),
        ([(90, 500)], 90),
        ([(-50, 500)], 0),
        ([(-50, -10), (200, 300)], 100),
        ([(10, 20), (30, 50)], 70),
    ],
)
def test_outages_are_not_waited(outages: list[tuple[float, float]], waited_s: float) -> None:
    """
    A wait is measured without the parts in which no control plane ran, and is never negative.
    """
    told = [Outage(b.START + _s(begin), b.START + _s(end)) for begin, end in outages]

    assert timers.waited_s(b.START, b.START + _s(100), told) == waited_s


def test_a_start_deadline_leaves_out_the_outage() -> None:
    """
    An attempt whose start deadline passed while nobody was there gets the time back, and is stopped after it.
    """
    job = b.job(Phase.LAUNCHING, start_deadline_s=60.0)
    began = job.attempt.begun_at
    outage = Outage(began + _s(10), began + _s(1010))

    assert _due(job, began + _s(59)) == ()
    assert _due(job, began + _s(60)) == ("StopRequested",)
    assert _due(job, began + _s(1020), outage) == ()
    assert _due(job, began + _s(1060), outage) == ("StopRequested",)


def test_while_an_outage_is_left_out_the_job_is_looked_at_again() -> None:
    """
    Past its start deadline by the clock but not by the wait, a launching job still has a wake time ahead.
    """
    job = b.job(Phase.LAUNCHING, start_deadline_s=60.0)
    at = job.attempt.begun_at + _s(1020)
    after = step(job, Due(outages=(Outage(job.attempt.begun_at, at),)), at).after

    assert after.wake_at is not None and at < after.wake_at <= at + _s(1)


def test_a_deadline_counts_from_the_engines_start() -> None:
    """
    The deadline runs from when the engine says it started, outage or not: the attempt did run meanwhile.
    """
    job = b.job(Phase.RUNNING, deadline_s=60.0)
    began = job.attempt.started_at
    assert began is not None

    assert job.wake_at == began + _s(60)
    assert _due(job, began + _s(59.9)) == ()
    assert _due(job, began + _s(60), Outage(began, began + _s(60))) == ("StopRequested",)


def test_a_start_time_holds_the_job_back() -> None:
    """
    A job is not admitted before its start time, wakes at it, and is admitted from then on.
    """
    start_at = b.START + _s(3600)
    job = b.job(Phase.QUEUED, start_at=start_at)

    assert job.wake_at == start_at
    assert step(job, Admit(incarnation=b.LIFE), start_at - _s(1)).events == ()
    assert step(job, Admit(incarnation=b.LIFE), start_at).after.phase is Phase.LAUNCHING


def test_backoff_never_fires_early_and_survives_a_clock_set_back() -> None:
    """
    The wait lasts as long as decided, and a clock behind its beginning ends it instead of stretching it.
    """
    job = b.job(Phase.BACKING_OFF)
    assert job.backoff_s is not None and job.backoff_s > 0
    since = job.phase_since

    assert job.wake_at == since + _s(job.backoff_s)
    assert _due(job, since + _s(job.backoff_s * 0.99)) == ()
    assert _due(job, since + _s(job.backoff_s)) == ("BackoffElapsed",)
    assert _due(job, since - _s(1)) == ("BackoffElapsed",)


def test_a_stop_is_repeated_and_then_doubted() -> None:
    """
    A stop is due at once, then every few seconds; past grace and patience an unconfirmed one is a doubt.
    """
    job = b.job(Phase.STOPPING, stop_grace_s=10.0)
    late = job.phase_since + _s(10 + timers.STOP_PATIENCE_S)

    assert job.wake_at == job.phase_since
    again = step(job, Due(), job.phase_since + _s(1)).after
    assert again.wake_at == job.phase_since + _s(1 + timers.STOP_REPEAT_S)
    assert step(job, b.present(), late - _s(0.1)).events == ()
    for seen in (b.present(), b.unreachable(), b.absent()):
        assert step(job, seen, late).after.phase is Phase.UNCERTAIN


def test_a_repeated_stop_gets_its_patience_anew() -> None:
    """
    A cancel of a job whose stop was unconfirmed stops again, instead of doubting at once.
    """
    doubted = b.job(Phase.UNCERTAIN, doubt=b.Doubt.STOP_UNCONFIRMED, cause=StopCause.LOST)
    stopping = b.told(doubted, b.Cancel(by="ann"))

    assert stopping.phase is Phase.STOPPING
    assert step(stopping, b.present(), stopping.phase_since + _s(1)).events == ()


@pytest.mark.parametrize(("age_s", "wait_s"), [(0.0, 1.0), (10.0, 5.0), (60.0, 30.0), (1000.0, 60.0)])
def test_an_old_doubt_is_looked_at_less_often(age_s: float, wait_s: float) -> None:
    """
    The wait between looks at an uncertain job grows with the doubt, within bounds.
    """
    job = b.job(Phase.UNCERTAIN)
    now = job.phase_since + _s(age_s)

    assert timers.wake_at(job, now) == now + _s(wait_s)


@pytest.mark.parametrize("phase", list(Phase))
def test_no_phase_that_time_moves_sleeps_for_ever(phase: Phase) -> None:
    """
    Every phase either has a wake time, or is moved by others alone.
    """
    job = b.job(phase, deadline_s=60.0)
    others = {Phase.QUEUED, Phase.SUSPENDED, Phase.SUCCEEDED, Phase.FAILED, Phase.CANCELLED}

    assert (job.wake_at is None) == (phase in others)


@pytest.mark.parametrize("phase", list(Phase))
def test_a_wake_time_always_moves_on(phase: Phase) -> None:
    """
    Taking a turn at the wake time leads to a later one, a new phase, or something to remove: never in a circle.
    """
    job = b.job(phase, deadline_s=60.0, start_deadline_s=60.0, ttl=Ttl(record_s=60.0))
    for _ in range(20):
        if job.wake_at is None or job.phase.final:
            return
        now = max(job.wake_at, job.updated_at) + _s(0.001)
        after = step(job, Due(), now).after
        assert after.phase is not job.phase or after.wake_at is None or after.wake_at > now
        job = after
