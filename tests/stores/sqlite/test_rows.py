"""
What is stored of a job is all of it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import apsw
import msgspec
import pytest

from standfast.core.failure import Failure, FailureClass
from standfast.core.job.attempt import Attempt, Stop, StopCause, handle_of
from standfast.core.job.evidence import Ending, Evidence, Rank, Verdict
from standfast.core.job.spec import Resources, Spec
from standfast.core.job.state import Doubt, Job, Outcome, Phase, Uncertain
from standfast.stores.sqlite import queries, rows
from standfast.stores.sqlite.migrate import migrate, shipped
from standfast.stores.sqlite.rows import job_of
from standfast.testing import builders

UID = "job_" + "7" * 26


def _at(minute: int) -> Any:
    return builders.START + timedelta(minutes=minute, microseconds=minute)


ATTEMPT = Attempt(
    number=1,
    handle=handle_of(UID, 1),
    incarnation="life-3",
    begun_at=_at(1),
    sent_at=_at(2),
    sends=2,
    resources=Resources(memory_mib=7, cpus=0.5),
    mitigation="more memory",
    seen_at=_at(3),
    started_at=_at(4),
    ended_at=_at(5),
    closed_at=_at(6),
    engine_status="GONE",
    engine_ref="ref-1",
    engine_note="pids 4, 5",
    contact_lost_at=_at(7),
    contact_lost_because="no answer",
    stop=Stop(cause=StopCause.CANCEL, asked_at=_at(8), by="ann", reason="enough"),
    ending=Ending.FAILED,
    failure=Failure.of(FailureClass.OUT_OF_MEMORY, "oom", "too much"),
    evidence=(Evidence(claim="gone", verdict=Verdict.PROVEN, source="test", at=_at(9), rank=Rank.RECEIPT),),
)

JOB = Job(
    uid=UID,
    namespace="science",
    name="nightly",
    request_id="request-1",
    digest="sha256:0",
    spec=Spec(engine="fake", program={"n": 1}, queue="night", priority=3, start_at=_at(-5)),
    created_at=_at(0),
    created_by="ann",
    revision=9,
    phase=Phase.FAILED,
    phase_since=_at(10),
    updated_at=_at(11),
    labels={"team": "blue"},
    retry_of="job_1",
    attempts=(ATTEMPT, msgspec.structs.replace(ATTEMPT, number=2, handle=handle_of(UID, 2))),
    backoff_s=1.5,
    uncertain=Uncertain(doubt=Doubt.GONE_UNPROVEN, since=_at(12), message="?"),
    because="it failed",
    outcome=Outcome.FAILED,
    finished_at=_at(13),
    compute_removed_at=_at(14),
    logs_removed_at=_at(15),
    wake_at=_at(16),
)


@pytest.mark.parametrize("whole", [JOB, ATTEMPT], ids=["job", "attempt"])
def test_the_example_sets_every_field(whole: msgspec.Struct) -> None:
    """
    No field of the example has its default, so a field added to the core is missed here first.
    """
    for field in msgspec.structs.fields(whole):
        assert getattr(whole, field.name) != field.default, f"set {field.name} here, and store it"


@pytest.mark.parametrize("step", ["made", "moved", "touched"])
def test_every_field_is_stored(step: str) -> None:
    """
    A job written whole, or moved or touched later, is read back with every field, and every field of its attempts.
    """
    db = apsw.Connection(":memory:")
    migrate(db, shipped())
    slot = db.execute(queries.NEW_SLOT, ("science", "fake", "night", "failed")).get
    first = JOB if step == "made" else _before(JOB)
    db.execute(queries.INSERT_JOB, rows.inserted(first, slot, 5))
    db.executemany(queries.INSERT_ATTEMPT, [rows.begun(5, one) for one in first.attempts])
    if step != "made":
        sql, row = (
            (queries.MOVE_JOB, rows.moved(JOB, slot, 5))
            if step == "moved"
            else (queries.TOUCH_JOB, rows.touched(JOB, 5))
        )
        db.execute(sql, row)
        db.executemany(queries.UPDATE_ATTEMPT, [rows.followed(5, one) for one in JOB.attempts])
    found = db.execute(queries.JOB_BY_UID, (UID,)).fetchone()
    assert job_of(found, lambda job_id: db.execute(queries.ATTEMPTS_OF_JOB, (job_id,))) == JOB
    db.close()


def _before(job: Job) -> Job:
    """
    The same job with nothing in it that later steps may change.
    """
    bare = [
        Attempt(
            number=one.number,
            handle=one.handle,
            incarnation=one.incarnation,
            begun_at=one.begun_at,
            sent_at=one.begun_at,
        )
        for one in job.attempts
    ]
    return msgspec.structs.replace(
        job,
        revision=1,
        phase_since=job.created_at,
        updated_at=job.created_at,
        attempts=tuple(bare),
        backoff_s=None,
        uncertain=None,
        because=None,
        finished_at=job.created_at,
        compute_removed_at=None,
        logs_removed_at=None,
        wake_at=None,
    )
