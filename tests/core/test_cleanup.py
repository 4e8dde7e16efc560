"""
Cleanup is a total function of (outcome, attempts, policy, what is gone already).
"""

from __future__ import annotations

import itertools
from datetime import timedelta

import pytest

from standfast.core.job.actions import Remove, Rest
from standfast.core.job.cleanup import next_removal
from standfast.core.job.inputs import Cancel, Due, Remainder, Removed
from standfast.core.job.machine import plan, step
from standfast.core.job.spec import Ttl
from standfast.core.job.state import Job, Phase
from standfast.testing import builders as b

TTLS = [None, 0.0, 10.0, 100.0]
FINALS = [phase for phase in Phase if phase.final]


def _finished(phase: Phase, ttl: Ttl, *, ran: bool) -> Job:
    if ran:
        return b.job(phase, ttl=ttl)
    return b.told(b.job(Phase.QUEUED, ttl=ttl), Cancel(by="ann"))


@pytest.mark.parametrize(("phase", "ran"), [*((phase, True) for phase in FINALS), (Phase.CANCELLED, False)])
@pytest.mark.parametrize(("compute_s", "logs_s", "record_s"), list(itertools.product(TTLS, TTLS, TTLS)))
def test_everything_with_a_ttl_goes_once_in_time_and_the_record_last(
    phase: Phase, compute_s: float | None, logs_s: float | None, record_s: float | None, ran: bool
) -> None:
    """
    For every outcome and policy: each remainder goes at its time, the record after the rest, and nothing else moves.
    """
    job = _finished(phase, Ttl(compute_s=compute_s, logs_s=logs_s, record_s=record_s), ran=ran)
    end = job.finished_at
    assert end is not None
    gone: list[Remainder] = []
    while (removal := next_removal(job)) is not None and removal.what is not Remainder.RECORD:
        assert isinstance(plan(job, removal.at - timedelta(seconds=1)), Rest)
        assert plan(job, removal.at) == Remove(removal.what)
        assert job.wake_at == removal.at
        own = {Remainder.COMPUTE: compute_s, Remainder.LOGS: logs_s}[removal.what]
        assert (removal.at - end).total_seconds() == min(s for s in (own, record_s) if s is not None)
        job = step(job, Removed(what=removal.what), removal.at).after
        gone.append(removal.what)

    assert job.phase is phase
    assert len(gone) == len(set(gone))
    if record_s is None:
        assert removal is None and job.wake_at is None
        wanted = {w for w, s in ((Remainder.COMPUTE, compute_s), (Remainder.LOGS, logs_s)) if s is not None}
        assert set(gone) == (wanted if ran else set())
    else:
        assert removal is not None and removal.at == end + timedelta(seconds=record_s)
        assert set(gone) == ({Remainder.COMPUTE, Remainder.LOGS} if ran else set())


@pytest.mark.parametrize("phase", [phase for phase in Phase if not phase.final])
def test_nothing_goes_before_the_end(phase: Phase) -> None:
    """
    An unfinished job loses nothing, whatever its policy.
    """
    job = b.job(phase, ttl=Ttl(compute_s=0, logs_s=0, record_s=0))

    assert next_removal(job) is None
    assert not isinstance(plan(job, job.updated_at + timedelta(days=1)), Remove)


def test_a_removal_out_of_turn_is_no_event() -> None:
    """
    Word of a removal that is not next changes nothing, and neither does time.
    """
    job = b.job(Phase.SUCCEEDED, ttl=Ttl(compute_s=10.0))

    assert step(job, Removed(what=Remainder.LOGS), job.updated_at).events == ()
    assert step(job, Due(), job.updated_at + timedelta(days=1)).events == ()
