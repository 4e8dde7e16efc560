"""
wait and --timeout: whose seconds they are, and what is said when they are over.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from cli_runner import Cli

from standfast.cli.exits import Exit
from standfast.client import Client, JobView, Spec


@pytest.fixture
def pair(sf: Client) -> Iterator[tuple[JobView, JobView]]:
    """
    Two jobs that run for long.
    """
    first, second = (sf.jobs.run(Spec.fake(name=f"pair-{n}", run_s=60)).wait(until="running") for n in "ab")
    yield first, second
    for job in (first, second):
        job.cancel()


def test_the_limit_is_said_as_it_was_given(cli: Cli, pair: tuple[JobView, JobView]) -> None:
    """
    For each of several jobs the whole limit, not what happened to be left of it.
    """
    uids = [job.uid for job in pair]
    result = cli("wait", *uids, "--timeout", "0.4s")

    assert result.code == Exit.PENDING
    assert [line for line in result.err.splitlines() if line.startswith("error")] == [
        f"error: {uid} is still running after 0.4s [wait_timeout]" for uid in uids
    ]


def test_any_of_several_keeps_to_the_limit_and_says_how_they_are(cli: Cli, pair: tuple[JobView, JobView]) -> None:
    """
    The last round is cut to what is left, and the phases are told.
    """
    begun = time.monotonic()
    result = cli("wait", *(job.uid for job in pair), "--any", "--timeout", "100ms")

    assert time.monotonic() - begun < 0.9, "a whole round more would take a second"
    assert result.code == Exit.PENDING
    assert "none is done after 0.1s: pair-a is running, pair-b is running [wait_timeout]" in result.err


def test_a_finished_job_is_seen_when_the_time_is_over_already(
    cli: Cli, sf: Client, pair: tuple[JobView, JobView]
) -> None:
    """
    The first job used up the time; the second one is as wished all the same.
    """
    done = sf.jobs.run(Spec.fake(name="quick")).wait(timeout=20)
    result = cli("wait", pair[0].uid, done.uid, "--timeout", "0.2s")

    assert "succeeded" in result.err and result.err.count("error:") == 1


@pytest.mark.parametrize(
    "words",
    [
        ("cancel", "-y"),
        ("suspend", "-y"),
        ("resume",),
        ("retry",),
        ("resolve", "--as", "absent", "--because", "x", "-y"),
    ],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize("timeout", [("--timeout", "5m"), ("--wait", "--timeout", "soon")], ids=["no wait", "no time"])
def test_a_timeout_that_would_mean_nothing_is_refused_first(
    cli: Cli, sf: Client, pair: tuple[JobView, JobView], words: tuple[str, ...], timeout: tuple[str, ...]
) -> None:
    """
    Without --wait, or malformed: exit 2, and nothing was sent.
    """
    result = cli(*words, pair[0].uid, *timeout)

    assert result.code == Exit.USAGE and "--timeout" in result.err and "nothing was sent" in result.err
    assert pair[0].refresh().revision == pair[0].revision
