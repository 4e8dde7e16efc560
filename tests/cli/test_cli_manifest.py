"""
Native manifests: parsing, mistakes with their places, applying twice.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_runner import Cli

from standfast.cli.exits import Exit
from standfast.client import Client
from standfast.core.errors import InvalidSpec
from standfast.manifests import native

ONE = """\
apiVersion: standfast/v1
kind: Job
metadata: {name: nightly, namespace: etl, labels: {team: payments}}
spec:
  engine: process
  program: {argv: [./etl.sh, "--day", "1"]}
  retry: {max_attempts: 3, on: [dependency]}
  exit_codes: {75: dependency}
  start_at: 2026-11-30T18:00:00+01:00
"""


def test_a_manifest_is_read_and_written_back() -> None:
    """
    parse and render are each other's inverse.
    """
    (manifest,) = native.parse(ONE)

    assert native.parse(native.render(manifest)) == [manifest]
    assert manifest.metadata.namespace == "etl" and manifest.spec.retry.max_attempts == 3


def test_the_request_id_follows_from_what_the_document_says() -> None:
    """
    Layout and key order do not matter, any value does.
    """
    (first,) = native.parse(ONE)
    (same,) = native.parse("# comment\n" + native.render(first))
    (other,) = native.parse(ONE.replace("max_attempts: 3", "max_attempts: 4"))

    assert first.request_id == same.request_id != other.request_id
    assert first.request_id.startswith("apply-nightly-")


HEAD = "apiVersion: standfast/v1\nkind: Job\nmetadata: {name: n}\n"


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ("", ""),
        ("- 1", ""),
        ("a: [", ""),
        ("a: 1\na: 2", ""),
        ("kind: Job\nmetadata: {name: n}", "/apiVersion"),
        (HEAD.replace("Job", "Pod"), "/kind"),
        (HEAD + "status: {}", "/status"),
        (HEAD.replace("name: n", "name: N"), "/metadata/name"),
        (HEAD.replace("name: n", "name: n, labels: {a: 1.10}"), "/metadata/labels/*"),
        (HEAD + "spec: {retry: {max_attempts: many}}", "/spec/retry/max_attempts"),
        (HEAD + "spec: {priority: 5000}", "/spec/priority"),
        (HEAD + "spec: {color: red}", "/spec"),
        (HEAD + "spec: &a {program: {x: *a}}", ""),
    ],
)
def test_mistakes_have_their_place(text: str, pointer: str) -> None:
    """
    Each mistake is named by a JSON pointer into its document.
    """
    with pytest.raises(InvalidSpec) as caught:
        native.parse(text)

    assert caught.value.errors[0].pointer == pointer


def test_several_documents_tell_which_one_is_wrong() -> None:
    """
    The document's number stands before the pointer, and every mistake is listed.
    """
    with pytest.raises(InvalidSpec) as caught:
        native.parse(ONE + "---\n" + HEAD + "spec: {priority: 5000}\n---\nkind: Job\n")

    assert [e.pointer for e in caught.value.errors] == ["#2/spec/priority", "#3/apiVersion"]


def test_a_few_lines_cannot_stand_for_billions() -> None:
    """
    Aliases of aliases are counted before anything is made of them.
    """
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 20)}]" for n in range(1, 12)]
    with pytest.raises(InvalidSpec, match="stands for more"):
        native.parse("\n".join(lines))


def test_apply_twice_makes_each_job_once(cli: Cli, sf: Client, home: Path) -> None:
    """
    The same file finds the same jobs; a changed document is a new job.
    """
    job = "apiVersion: standfast/v1\nkind: Job\nmetadata: {{name: {0}}}\nspec: {{engine: fake, queue: {1}}}\n"
    file = home / "jobs.yaml"
    file.write_text(job.format("applied-a", "q") + "---\n" + job.format("applied-b", "q"))
    first, again = cli("apply", "-f", "jobs.yaml"), cli("apply", "-f", "jobs.yaml")
    file.write_text(job.format("applied-a", "q") + "---\n" + job.format("applied-b", "other"))
    changed = cli("apply", "-f", "jobs.yaml", "-o", "json")

    assert first.code == again.code == Exit.OK
    assert first.out == again.out and again.err.count("it was there before") == 2
    assert changed.json["items"][0]["uid"] == first.out.split()[0]
    assert len(list(sf.jobs.list(name_prefix="applied-"))) == 3


def test_a_wrong_file_sends_nothing(cli: Cli, sf: Client, home: Path) -> None:
    """
    One wrong document keeps all of them back.
    """
    (home / "bad.yaml").write_text(HEAD.replace("name: n", "name: kept-back") + "---\nkind: Job\n")
    result = cli("apply", "-f", "bad.yaml")

    assert result.code == Exit.USAGE and "/apiVersion" in result.err
    assert list(sf.jobs.list(name="kept-back")) == []
