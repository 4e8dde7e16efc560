"""
get, describe, explain, events, logs, wait: data on stdout, whatever the store holds.
"""

from __future__ import annotations

import contextlib
import io
import time
from pathlib import Path

import msgspec
import pytest
import yaml
from cli_runner import Cli

from standfast.cli import main
from standfast.cli.exits import Exit
from standfast.client import Client, JobView, Spec
from standfast.core.job.explain import REASONS
from standfast.core.job.state import Phase
from standfast.testing.server import FakeServer


@pytest.fixture
def done(sf: Client) -> JobView:
    """
    A finished job.
    """
    return sf.jobs.run(Spec.fake(name="seen", output="a\nb\nc\n", labels={"team": "x"}), key="seen").wait(timeout=20)


def test_every_format_of_get_jobs(cli: Cli, done: JobView) -> None:
    """
    json and yaml are one document, jsonl a line each, name and fields for shells, the table for people.
    """
    filters = ("get", "jobs", "-l", "team=x", "--phase", "succeeded")

    assert cli(*filters, "-o", "json").json["items"][0]["uid"] == done.uid
    assert yaml.safe_load(cli(*filters, "-o", "yaml").out)["items"][0]["name"] == "seen"
    assert [msgspec.json.decode(line)["uid"] for line in cli(*filters, "-o", "jsonl").out.splitlines()] == [done.uid]
    assert cli(*filters, "-o", "name").out == f"{done.uid}\n"
    assert cli(*filters, "-o", "fields=name,attempt.number,outcome,nothing").out == "seen\t1\tsucceeded\t-\n"
    table = cli(*filters)
    assert table.out.splitlines()[0].split()[:4] == ["NAME", "UID", "ENGINE", "PHASE"]
    assert "✓ succeeded" in table.out and "1 shown" in table.err


def test_an_empty_answer_is_still_a_document(cli: Cli) -> None:
    """
    Nothing found is an empty list, never an empty stdout.
    """
    assert cli("get", "jobs", "-l", "no=such", "-o", "json").json["items"] == []
    empty = cli("get", "jobs", "-l", "no=such")
    assert (empty.code, empty.out) == (Exit.OK, "")


def test_describe_and_explain_agree(cli: Cli, done: JobView) -> None:
    """
    Both give the control plane's reason, by name, by uid, and by job/name.
    """
    for ref in ("seen", done.uid, "job/seen"):
        described, explained = cli("describe", "job", ref), cli("explain", ref)
        assert described.code == explained.code == Exit.OK
        assert "Succeeded. attempt 1 succeeded" in described.out and "Succeeded. attempt 1 succeeded" in explained.out
    assert set(cli("describe", "seen", "-o", "json").json) == {"job", "attempts", "evidence", "events"}
    assert cli("explain", "seen", "-o", "json").json["phase"] == "succeeded"


@pytest.mark.parametrize("phase", list(Phase))
def test_every_phase_has_its_page(cli: Cli, phase: Phase) -> None:
    """
    explain phase names its reasons and its arrows.
    """
    page = cli("explain", "phase", phase).out

    assert all(reason in page for reason in REASONS[phase])
    assert "Entered by" in page and "Left by" in page


def test_error_codes_have_their_page(cli: Cli) -> None:
    """
    explain code asks the control plane's catalogue.
    """
    assert "422" in cli("explain", "code", "idempotency_key_reused").out
    assert cli("explain", "code", "no_such_code").code == Exit.NOT_FOUND
    assert cli("explain", "phase", "no_such_phase").code == Exit.NOT_FOUND


def test_events_are_in_order(cli: Cli, done: JobView) -> None:
    """
    Numbers grow; -f ends with the job.
    """
    lines = [msgspec.json.decode(line) for line in cli("events", "seen", "-f", "-o", "json").out.splitlines()]

    assert [event["seq"] for event in lines] == sorted(event["seq"] for event in lines)
    assert (lines[0]["type"], lines[-1]["type"]) == ("Submitted", "Succeeded")
    assert cli("events", "seen", "--since", str(lines[0]["seq"])).out.count("\n") == len(lines) - 1
    assert cli("events").code == Exit.USAGE


def test_events_of_all_jobs_since_a_time(cli: Cli, done: JobView, sf: Client) -> None:
    """
    Without a job, --since lists what happened to all of them since then, and ends.
    """
    first = next(iter(done.events()))
    listed = [msgspec.json.decode(line) for line in cli("events", "--since", "1h", "-o", "json").out.splitlines()]
    since = [
        msgspec.json.decode(line) for line in cli("events", "--since", str(first.seq), "-o", "json").out.splitlines()
    ]

    assert {event["uid"] for event in listed} >= {done.uid}
    assert since[0]["seq"] > first.seq
    assert done.uid in cli("events", "--since", "1h").out
    assert cli("events", "--since", "2999-01-01T00:00:00Z").out == ""


def test_logs_are_tagged_and_cut(cli: Cli, done: JobView) -> None:
    """
    The attempt stands before each line; --raw, --tail, --grep and @N choose.
    """
    assert cli("logs", "seen").out == "[1] a\n[1] b\n[1] c\n"
    assert cli("logs", "seen@1", "--raw", "--tail", "2").out == "b\nc\n"
    assert cli("logs", "seen", "--grep", "^b").out == "[1] b\n"
    assert cli("logs", "seen", "--grep", "(").code == Exit.USAGE


def test_wait_knows_when_it_is_in_vain(cli: Cli, sf: Client) -> None:
    """
    A failed job will never run: exit 8, at once. A sleeper that is waited for too long: exit 7, and it goes on.
    """
    sf.jobs.run(Spec.fake(name="broken", ending="failed"), key="broken").wait(timeout=20)
    begun = time.monotonic()
    assert cli("wait", "broken", "--for", "phase=running").code == Exit.FAILED
    assert time.monotonic() - begun < 2
    sleeper = sf.jobs.run(Spec.fake(name="sleeper", run_s=60), key="sleeper").wait(until="running", timeout=20)
    late = cli("wait", "sleeper", "--timeout", "0.3s")
    assert late.code == Exit.PENDING and "goes on" in late.err
    assert sleeper.refresh().phase == "running"
    assert cli("wait", "sleeper", "broken", "--for", "running", "--any").code == Exit.OK
    assert cli("wait", "broken", "--for", "done").code == Exit.FAILED
    assert cli("wait", "sleeper", "--for", "nonsense").code == Exit.USAGE
    sleeper.cancel()


def test_refs_do_not_guess(cli: Cli, sf: Client) -> None:
    """
    Two unfinished jobs of one name are an error with both uids; an unknown name is exit 3; a beginning of a uid works.
    """
    twins = [sf.jobs.run(Spec.fake(name="twin", run_s=60)) for _ in range(2)]
    result = cli("describe", "twin")

    assert result.code == Exit.USAGE and all(job.uid in result.err for job in twins)
    assert cli("describe", twins[0].uid[:28] + "zz").code == Exit.NOT_FOUND
    assert twins[0].uid in cli("describe", twins[0].uid[:-1]).out
    assert cli("describe", "nosuch").code == Exit.NOT_FOUND
    for job in twins:
        job.cancel()


def test_engines_and_doctor(cli: Cli) -> None:
    """
    Both say what answers; a control plane that does not is trouble, exit 1.
    """
    assert "fake" in cli("get", "engines").out
    assert cli("doctor").code == Exit.OK
    sick = cli("doctor", "--server", "http://127.0.0.1:9")
    assert sick.code == Exit.TROUBLE and "✗ server" in sick.out


def test_hostile_names_are_shown_and_not_obeyed(cli: Cli, sf: Client) -> None:
    """
    Escape sequences in labels and reasons reach the terminal as text.
    """
    sf.jobs.run(Spec.fake(name="hostile", run_s=60, labels={"x": "\x1b[31mred\x07"}), key="hostile").cancel(
        reason="\x1b]0;owned\x07\nnext"
    )
    for words in (
        ("get", "jobs", "-o", "wide"),
        ("describe", "hostile"),
        ("explain", "hostile"),
        ("events", "hostile"),
    ):
        assert "\x1b" not in cli(*words).out


def test_a_queued_job_says_who_holds_the_slots_and_who_comes_first(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The numbers are in the table and in describe, by name as by uid.
    """
    with FakeServer(slots=1) as small, Client(small.url) as sf:
        monkeypatch.setenv("STANDFAST_SERVER", small.url)
        sf.jobs.run(Spec.fake(name="holder", run_s=60)).wait(until="running", timeout=20)
        sf.jobs.run(Spec.fake(name="first", run_s=60))
        second = sf.jobs.run(Spec.fake(name="second", run_s=60))
        numbers = "1 of 1 slots of engine fake in use, {} before it"
        listed, named = said("get", "jobs"), said("get", "jobs", "second")

        assert numbers.format(0) in listed and numbers.format(1) in listed
        assert numbers.format(1) in named
        assert numbers.format(1) in said("describe", "second") and numbers.format(1) in said("describe", second.uid)


def said(*words: str) -> str:
    """
    What one verb writes to stdout.
    """
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main.call(list(words)) == Exit.OK
    return out.getvalue()
