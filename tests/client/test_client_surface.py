"""
The public surface: two classes with the same names and types, answers like the server's, inert text in notebooks.
"""

from __future__ import annotations

import inspect
from typing import Any

import msgspec
import pytest

from standfast.client import Client, JobView, Spec, aio, answers, goals, sync
from standfast.core.errors import InvalidSpec
from standfast.core.job.state import Phase
from standfast.wire import public

PAIRS = [
    (sync.Client, aio.AsyncClient),
    (sync.Jobs, aio.AsyncJobs),
    (sync.JobView, aio.AsyncJobView),
    (sync.JobList, aio.AsyncJobList),
    (sync.JobPage, aio.AsyncJobPage),
]
RENAMED = {"__aenter__": "__enter__", "__aexit__": "__exit__", "__aiter__": "__iter__"}


def signatures(kind: type) -> dict[str, str]:
    """
    Every public method of the class with its signature, in the words of the blocking client.
    """
    found = {}
    for name, member in vars(kind).items():
        if callable(member) and (not name.startswith("_") or name in RENAMED or name in RENAMED.values()):
            text = str(inspect.signature(member)).replace("Async", "").replace("AsyncIterator", "Iterator")
            found[RENAMED.get(name, name)] = text
    return found


@pytest.mark.parametrize(("blocking", "asynchronous"), PAIRS, ids=lambda kind: kind.__name__)
def test_both_clients_have_the_same_names_and_types(blocking: type, asynchronous: type) -> None:
    """
    Whoever knows one knows the other.
    """
    assert signatures(blocking) == signatures(asynchronous)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (answers.Job, public.JobAnswer),
        (answers.AttemptRef, public.AttemptRef),
        (answers.Attempt, public.AttemptAnswer),
        (answers.Evidence, public.EvidenceAnswer),
        (answers.Event, public.EventAnswer),
        (answers.EventPage, public.EventPage),
        (answers.JobPage, public.JobPage),
        (answers.Explanation, public.Explanation),
        (answers.Plan, public.PlanAnswer),
    ],
    ids=lambda kind: kind.__name__,
)
def test_answers_are_read_whole(ours: Any, theirs: Any) -> None:
    """
    Every field that the server's model has is read by the client's.
    """
    assert set(theirs.__struct_fields__) == set(ours.__struct_fields__)


def test_a_notebook_shows_text_and_runs_nothing() -> None:
    """
    A name with a script in it is shown as text.
    """
    job = answers.Job(
        uid="job_x",
        name="<script>alert(1)</script>",
        namespace="default",
        revision=1,
        phase="running",
        why=answers.Why(
            reason="Running",
            message='"><img src=x onerror=alert(1)>',
            since=msgspec.convert("2026-11-30T12:00:00Z", __import__("datetime").datetime),
        ),
        created_at=msgspec.convert("2026-11-30T12:00:00Z", __import__("datetime").datetime),
    )
    shown = JobView(Client("http://nowhere"), job)._repr_html_()

    assert "<script" not in shown and "<img" not in shown
    assert "&lt;script&gt;" in shown and "● running" in shown


@pytest.mark.parametrize("final", ["succeeded", "failed", "cancelled"])
@pytest.mark.parametrize("phase", list(Phase))
def test_nothing_but_itself_can_come_after_an_end(final: str, phase: Phase) -> None:
    """
    From a final phase only its own goal and `done` are reached; every other is impossible.
    """
    expected = goals.Prospect.REACHED if phase == final else goals.Prospect.IMPOSSIBLE

    assert goals.prospect(phase, final) is expected
    assert goals.prospect("done", final) is goals.Prospect.REACHED


@pytest.mark.parametrize("phase", [p for p in Phase if not p.final])
def test_an_open_job_may_still_end(phase: Phase) -> None:
    """
    Whoever waits for the end of an open job waits for something that can come.
    """
    assert goals.prospect("done", phase) is goals.Prospect.OPEN


def test_specs_for_each_engine() -> None:
    """
    The short forms give the programs that the engines read.
    """
    process = Spec.process(["./Étl Job.sh", "-x"], cwd="/srv", retries=2, memory_mib=512)
    spark = Spec.spark("jobs/etl.py", args=["--day", "1"], conf={"spark.x": "y"}, name="orders")

    assert process.name == "tl-job.sh" and process.work.retry.max_attempts == 3
    assert process.work.program == {"argv": ["./Étl Job.sh", "-x"], "cwd": "/srv"}
    assert process.work.resources.memory_mib == 512
    assert spark.work.engine == "spark" and spark.name == "orders"
    with pytest.raises(TypeError, match="retrys"):
        Spec.process(["true"], retrys=1)


def test_a_manifest_file_is_a_spec(tmp_path: Any) -> None:
    """
    load reads one job with its key; a mistake is named by its pointer.
    """
    good = tmp_path / "job.yaml"
    good.write_text("apiVersion: standfast/v1\nkind: Job\nmetadata: {name: n}\nspec: {program: {argv: [ls]}}\n")
    bad = tmp_path / "bad.yaml"
    bad.write_text("apiVersion: standfast/v1\nkind: Job\nmetadata: {name: n}\nspec: {retry: {max_attempts: many}}\n")

    assert Spec.load(good).key == Spec.load(good).key
    with pytest.raises(InvalidSpec) as caught:
        Spec.load(bad)
    assert caught.value.errors[0].pointer == "/spec/retry/max_attempts"
