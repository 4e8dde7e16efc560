"""
cancel, suspend, resume, retry, resolve, delete: consent, refusals, exit codes.
"""

from __future__ import annotations

import pytest
from cli_runner import Cli

from standfast.cli.exits import Exit
from standfast.client import Client, JobView, Spec


def running(sf: Client, name: str) -> JobView:
    """
    A job that runs for a minute.
    """
    return sf.jobs.run(Spec.fake(name=name, run_s=60, labels={"set": name})).wait(until="running", timeout=20)


@pytest.mark.parametrize("verb", ["cancel", "suspend", "delete"])
def test_without_a_terminal_and_without_yes_nothing_is_sent(cli: Cli, sf: Client, verb: str) -> None:
    """
    Exit 2, and the job is as it was.
    """
    job = running(sf, f"keep-{verb}")
    result = cli(verb, job.name)

    assert result.code == Exit.USAGE and "nothing was sent" in result.err and "-y" in result.err
    assert job.refresh().revision == job.revision
    job.cancel()


def test_cancel_and_wait_for_the_confirmed_end(cli: Cli, sf: Client) -> None:
    """
    --wait returns when nothing of it is alive; the reason is kept; a second cancel is a conflict.
    """
    job = running(sf, "end")
    result = cli("cancel", "end", "-y", "--reason", "wrong day", "--wait", "-o", "json")

    assert result.code == Exit.OK and result.json["phase"] == "cancelled"
    assert "wrong day" in job.refresh().why.message
    assert cli("suspend", "end", "-y").code == Exit.CONFLICT


def test_many_by_label(cli: Cli, sf: Client) -> None:
    """
    Every unfinished job with the label is cancelled, and no other.
    """
    jobs = [running(sf, "bulk") for _ in range(3)]
    other = running(sf, "other")

    assert cli("cancel", "-l", "set=bulk", "-y", "--wait").code == Exit.OK
    assert {job.refresh().phase for job in jobs} == {"cancelled"}
    assert other.refresh().phase == "running"
    assert cli("cancel", "-y").code == Exit.USAGE
    other.cancel()


def test_suspend_resume(cli: Cli, sf: Client) -> None:
    """
    A suspended job holds until it is resumed.
    """
    job = running(sf, "hold")
    assert cli("suspend", "hold", "-y", "--wait").code == Exit.OK
    assert job.refresh().phase == "suspended"
    assert cli("resume", "hold", "--wait", "--timeout", "20s").code == Exit.OK
    assert job.refresh().phase == "running"
    job.cancel()


def test_retry_changes_the_spec(cli: Cli, sf: Client) -> None:
    """
    A new job with what --set says; its uid on stdout; an unfinished one cannot be retried.
    """
    sf.jobs.run(Spec.fake(name="first")).wait(timeout=20)
    result = cli("retry", "first", "--set", "resources.memory_mib=64", "--set", "queue=slow", "--wait")
    made = sf.jobs.get(result.out.strip())

    assert result.code == Exit.OK
    assert made.snapshot.spec["resources"] == {"memory_mib": 64} and made.snapshot.queue == "slow"
    job = running(sf, "busy")
    assert cli("retry", "busy").code == Exit.CONFLICT
    assert cli("retry", "first", "--set", "resources.memory_mib=-1").code == Exit.USAGE
    job.cancel()


def test_resolve_needs_a_reason_and_is_recorded(cli: Cli, sf: Client) -> None:
    """
    Without --because nothing is sent; with it the events say who, what and why.
    """
    job = sf.jobs.run(Spec.fake(name="doubt", accept="lose_request", run_s=1)).wait(until="uncertain", timeout=20)

    assert cli("resolve", "doubt", "--as", "absent").code == Exit.USAGE
    assert cli("resolve", "doubt", "--as", "absent", "--because", " ").code == Exit.USAGE
    assert cli("resolve", "doubt", "--as", "done", "--because", "saw it").code == Exit.USAGE
    assert cli("resolve", "doubt", "--as", "absent", "--because", "looked").code == Exit.USAGE
    done = cli("resolve", "doubt", "--as", "done", "--outcome", "failed", "--because", "saw the host burn", "-y")
    assert done.code == Exit.OK
    events = cli("events", "doubt").out
    assert "Resolved" in events and "saw the host burn" in events and "by local" in events
    assert job.refresh().phase == "failed"


def test_delete_is_for_finished_jobs(cli: Cli, sf: Client) -> None:
    """
    A running job is refused, a finished one is gone.
    """
    job = running(sf, "undead")
    assert cli("delete", "undead", "-y").code == Exit.CONFLICT
    job.cancel().wait(timeout=20)
    assert cli("delete", "undead", "-y").code == Exit.OK
    assert cli("describe", job.uid).code == Exit.NOT_FOUND
