"""
The retry policy: whether, when, and with what changed.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from standfast.core.failure import TRAITS, Failure, FailureClass
from standfast.core.job.inputs import Admit, Due
from standfast.core.job.spec import Resources
from standfast.core.job.state import Job, Phase
from standfast.core.retry import (
    SUBMIT_BUDGET,
    Mitigation,
    NoRetry,
    Retry,
    RetryPolicy,
    full_jitter_s,
    grown_mib,
    next_try,
)
from standfast.testing import builders as b

LOST, OOM, USER = FailureClass.NODE_LOST, FailureClass.OUT_OF_MEMORY, FailureClass.USER_ERROR


def _fail(failure_class: FailureClass = LOST, message: str = "boom", **fields: Any) -> Failure:
    return Failure.of(failure_class, "test", message, **fields)


def _free() -> Failure:
    return _fail(FailureClass.SUBMISSION_REFUSED, retryable=True, free=True)


def _try(policy: RetryPolicy, *failures: Failure, memory_mib: int | None = None, mitigated: bool = False) -> Any:
    return next_try(policy, failures, seed="sf-x-1", mitigated=mitigated, memory_mib=memory_mib)


@given(base=st.floats(0, 86_400), cap=st.floats(0, 604_800), n=st.integers(0, 10_000), seed=st.text(max_size=20))
def test_jitter_is_bounded_and_repeatable(base: float, cap: float, n: int, seed: str) -> None:
    """
    Every delay lies in [0, min(cap, base·2^n)] and is the same for the same seed, also for absurd n.
    """
    delay = full_jitter_s(base, cap, n, seed)

    assert 0 <= delay <= cap
    assert n > 40 or delay <= base * 2**n
    assert delay == full_jitter_s(base, cap, n, seed)


def test_jitter_spreads_over_its_range() -> None:
    """
    Many handles spread over the whole range, so that they do not come back together.
    """
    delays = sorted(full_jitter_s(10.0, 1000.0, 2, f"sf-{i}-1") for i in range(1000))

    assert delays[0] < 1 and delays[-1] > 39
    assert 18 < sum(delays) / len(delays) < 22


def test_the_budget_counts_runs() -> None:
    """
    `max_attempts` runs are made and not one more.
    """
    policy = RetryPolicy(max_attempts=3)

    assert isinstance(_try(policy, _fail()), Retry)
    assert isinstance(_try(policy, _fail(), _fail()), Retry)
    assert isinstance(_try(policy, _fail(), _fail(), _fail()), NoRetry)
    assert isinstance(_try(RetryPolicy(), _fail()), NoRetry)


def test_free_failures_have_a_budget_of_their_own() -> None:
    """
    What never ran costs no run, but so many in a row end the job; a run in between starts the count anew.
    """
    policy = RetryPolicy(max_attempts=2)

    assert isinstance(_try(policy, *[_free()] * SUBMIT_BUDGET), Retry)
    assert isinstance(_try(policy, *[_free()] * (SUBMIT_BUDGET + 1)), NoRetry)
    assert isinstance(_try(policy, *[_free()] * SUBMIT_BUDGET, _fail(), _free()), Retry)
    assert isinstance(_try(policy, _free(), _fail(), _free(), _fail()), NoRetry)


@pytest.mark.parametrize("failure_class", list(FailureClass))
def test_the_class_says_whether_by_default(failure_class: FailureClass) -> None:
    """
    Without a word of the policy, the class's trait decides; `on` and `never` override it, and `never` wins.
    """
    failure = _fail(failure_class)

    assert isinstance(_try(RetryPolicy(max_attempts=2), failure), Retry) == TRAITS[failure_class].retryable
    assert isinstance(_try(RetryPolicy(max_attempts=2, on=(failure_class,)), failure), Retry)
    assert isinstance(_try(RetryPolicy(max_attempts=2, on=()), failure), NoRetry)
    both = RetryPolicy(max_attempts=2, on=(failure_class,), never=(failure_class,))
    assert isinstance(_try(both, failure), NoRetry)


def test_a_rules_own_word_beats_the_class() -> None:
    """
    A failure that its rule calls worth a retry is retried though its class is not, and the other way round.
    """
    policy = RetryPolicy(max_attempts=2)

    assert isinstance(_try(policy, _fail(USER, retryable=True)), Retry)
    assert isinstance(_try(policy, _fail(LOST, retryable=False)), NoRetry)


def test_the_same_failure_twice_ends_it_early() -> None:
    """
    The same failure twice with nothing changed stops a class that repeats; numbers and paths do not make it differ.
    """
    policy = RetryPolicy(max_attempts=9)
    first, second = _fail(OOM, "heap at 0xbeef in /tmp/a/1"), _fail(OOM, "heap at 0xcafe in /tmp/b/2")

    assert isinstance(_try(policy, first, second), NoRetry)
    assert isinstance(_try(policy, first, _fail(OOM, "metaspace")), Retry)
    assert isinstance(_try(RetryPolicy(max_attempts=9, stop_on_same=False), first, second), Retry)
    assert isinstance(_try(policy, first, second, mitigated=True), Retry)
    assert isinstance(_try(policy, _fail(LOST), _fail(LOST)), Retry)


@given(factor=st.floats(1.01, 100), ceiling=st.none() | st.integers(1, 10**6), memory=st.integers(1, 10**6))
def test_mitigation_never_shrinks(factor: float, ceiling: int | None, memory: int) -> None:
    """
    Memory grows by the factor up to its maximum, and never falls, not even if the maximum lies below.
    """
    grown = grown_mib(Mitigation(memory_factor=factor, memory_max_mib=ceiling), memory)

    assert grown >= memory
    assert grown <= max(memory, ceiling or grown)


def _out_of_memory(job: Job) -> Job:
    started = b.told(b.told(job, Admit(incarnation=b.LIFE)), b.present())
    failed = b.told(started, b.failed(failure_class=OOM))
    if failed.phase is not Phase.BACKING_OFF:
        return failed
    return b.told(failed, Due(), every_s=(failed.backoff_s or 0) + 1)


def test_each_attempt_runs_with_what_the_last_failure_changed() -> None:
    """
    Out of memory doubles the next attempt's memory up to the maximum, says so, and then the same failure ends it.
    """
    policy = RetryPolicy(max_attempts=10, mitigate={OOM: Mitigation(memory_factor=2, memory_max_mib=3000)})
    job = b.job(Phase.QUEUED, retry=policy, resources=Resources(memory_mib=1000))
    while not job.phase.final:
        job = _out_of_memory(job)

    assert [a.resources.memory_mib for a in job.attempts][:3] == [1000, 2000, 3000]
    assert job.attempts[1].mitigation == "memory 1000 -> 2000 MiB"
    assert len(job.attempts) <= 4
    assert job.spec.resources.memory_mib == 1000


def test_a_mitigation_without_known_memory_changes_nothing() -> None:
    """
    What cannot be changed does not excuse a second identical failure.
    """
    policy = RetryPolicy(max_attempts=9, mitigate={OOM: Mitigation()})

    assert isinstance(_try(policy, _fail(OOM), _fail(OOM)), NoRetry)
    assert isinstance(_try(policy, _fail(OOM), _fail(OOM), memory_mib=100), Retry)
