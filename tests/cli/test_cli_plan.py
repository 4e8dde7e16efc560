"""
plan, and running exactly what it showed.
"""

from __future__ import annotations

import stat
from pathlib import Path

import msgspec
import pytest
from cli_runner import Cli, Result

from standfast.cli import plans
from standfast.cli.exits import Exit
from standfast.client import Client

TWO = """\
apiVersion: standfast/v1
kind: Job
metadata: {name: two-a}
spec: {program: {argv: [echo, a]}}
---
apiVersion: standfast/v1
kind: Job
metadata: {name: two-b}
spec: {program: {argv: [echo, b]}}
"""


def token_of(result: Result) -> str:
    """
    The token that a plan printed.
    """
    return result.out.split("run --plan ")[1].split()[0]


def test_a_plan_is_run_as_it_was_shown_and_once(cli: Cli, sf: Client, home: Path) -> None:
    """
    What is sent is what was planned, from whatever folder; a second time finds the same job.
    """
    planned = cli("plan", "--name", "planned", "--env", "WHO=me", "--", "sh", "-c", "pwd; echo $WHO")
    token = token_of(planned)
    first = cli("run", "-q", "--plan", token)
    again = cli("run", "--plan", token)

    assert (first.code, first.out) == (Exit.OK, f"{home}\nme\n")
    assert "it was there before" in again.err
    assert len(list(sf.jobs.list(name="planned"))) == 1


def test_a_plan_that_would_be_another_now_is_refused(cli: Cli, sf: Client, home: Path) -> None:
    """
    Exit 5 and the place of the difference; nothing is sent.
    """
    token = token_of(cli("plan", "--name", "moved", "--", "true"))
    (file,) = (home.parent / "state/standfast/plans").glob("*.json")
    kept = msgspec.json.decode(file.read_bytes())
    kept["shown"]["engine_call"]["umask"] = 63
    file.write_bytes(msgspec.json.encode(kept))
    result = cli("run", "--plan", token)

    assert result.code == Exit.CONFLICT
    assert "plan_changed" in result.err and "/engine_call/umask" in result.err and "nothing was sent" in result.err
    assert list(sf.jobs.list(name="moved")) == []


def test_a_plan_is_for_the_control_plane_that_made_it(cli: Cli) -> None:
    """
    Another server never sees it.
    """
    token = token_of(cli("plan", "--", "true"))
    result = cli("run", "--plan", token, "--server", "http://127.0.0.1:9")

    assert result.code == Exit.CONFLICT and "127.0.0.1:9" in result.err


def test_a_token_stands_alone(cli: Cli) -> None:
    """
    Unknown ones are exit 3, malformed ones and words beside one exit 2.
    """
    token = token_of(cli("plan", "--", "true"))

    assert cli("run", "--plan", "pl_000000000000").code == Exit.NOT_FOUND
    assert cli("run", "--plan", "../../etc/passwd").code == Exit.USAGE
    assert cli("run", "--plan", token, "--", "false").code == Exit.USAGE
    assert cli("run", "--plan", token, "--retries", "3").code == Exit.USAGE


def test_kept_plans_are_private_and_bounded(cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A spec may hold what others should not read; the oldest go.
    """
    monkeypatch.setattr(plans, "KEPT_MAX", 2)
    for _ in range(3):
        cli("plan", "--", "true")
    files = list((home.parent / "state/standfast/plans").glob("*.json"))

    assert len(files) == 2
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)


def test_a_manifest_of_several_jobs_is_planned_whole(cli: Cli, sf: Client, home: Path) -> None:
    """
    With -f and without; one document for machines; the same for apply --dry-run.
    """
    (home / "two.yaml").write_text(TWO)
    (home / "two").write_text(TWO)

    for words in (("plan", "two.yaml"), ("plan", "-f", "two"), ("apply", "--dry-run", "-f", "two.yaml")):
        assert [line for line in cli(*words).out.splitlines() if line.startswith("+ job")] == [
            "+ job two-a   engine process   queue default",
            "+ job two-b   engine process   queue default",
        ]
        items = cli(*words, "-o", "json").json["items"]
        assert [item["job"]["name"] for item in items] == ["two-a", "two-b"]
        assert all(item["token"].startswith("pl_") for item in items)
    assert cli("plan", "two.yaml", "--name", "x").code == Exit.USAGE
    assert cli("plan", "-f", "two", "--", "true").code == Exit.USAGE
    assert list(sf.jobs.list(name_prefix="two-")) == []
