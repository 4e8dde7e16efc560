"""
Builders: jobs in any phase, and inputs, with a default for everything, so that a test names only what it is about.

Every job is led to its phase by real steps, never put together by hand, so it is a job that can exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from standfast.core.failure import Failure, FailureClass
from standfast.core.job.attempt import StopCause, handle_of
from standfast.core.job.evidence import Ending, Finding, Rank, Verdict
from standfast.core.job.inputs import Admit, Cancel, Due, Input, Resolve, Submit, Suspend
from standfast.core.job.machine import step
from standfast.core.job.observation import Absent, Ended, Present, Refused, RunState, Unreachable
from standfast.core.job.spec import Spec, digest
from standfast.core.job.state import Doubt, Job, Phase
from standfast.core.job.timers import STOP_PATIENCE_S
from standfast.core.retry import RetryPolicy
from standfast.ports.engine import Order

START = datetime(2026, 1, 1, tzinfo=UTC)
"""When every built job is submitted, unless told otherwise."""

LIFE = "life-1"
"""The incarnation that built observations come from."""

UID = "job_00000000000000000000000001"


def spec(**fields: Any) -> Spec:
    """
    A spec for the fake engine with ten attempts and the given fields.
    """
    given: dict[str, Any] = {"engine": "fake", "retry": RetryPolicy(max_attempts=10)}
    return Spec(**(given | fields))


def submit(asked: Spec | None = None, **fields: Any) -> Submit:
    """
    The command that makes a job.
    """
    asked = asked or spec()
    given: dict[str, Any] = {
        "uid": UID,
        "namespace": "default",
        "name": "built",
        "request_id": "request-1",
        "digest": digest(asked),
        "spec": asked,
        "by": "ann",
    }
    return Submit(**(given | fields))


def absent(at: datetime = START, **fields: Any) -> Absent:
    """
    The engine answers, and does not know it.
    """
    given: dict[str, Any] = {"at": at, "by": "fake.look", "incarnation": LIFE}
    return Absent(**(given | fields))


def present(at: datetime = START, **fields: Any) -> Present:
    """
    It runs.
    """
    given: dict[str, Any] = {
        "at": at,
        "by": "fake.look",
        "incarnation": LIFE,
        "state": RunState.RUNNING,
        "engine_status": "RUNNING",
        "engine_ref": "run-1",
    }
    return Present(**(given | fields))


def finding(ending: Ending = Ending.SUCCEEDED, rank: Rank = Rank.EXIT_STATUS, **fields: Any) -> Finding:
    """
    What one source says about an end.
    """
    given: dict[str, Any] = {"rank": rank, "ending": ending, "source": f"fake.{rank.name.lower()}"}
    return Finding(**(given | fields))


def ended(at: datetime = START, *findings: Finding, **fields: Any) -> Ended:
    """
    It has ended, well and wholly unless told otherwise.
    """
    given: dict[str, Any] = {
        "at": at,
        "by": "fake.look",
        "incarnation": LIFE,
        "findings": findings or (finding(),),
        "gone": Verdict.PROVEN,
        "gone_source": "fake.processes",
        "engine_status": "ENDED",
    }
    return Ended(**(given | fields))


def failed(
    at: datetime = START, failure_class: FailureClass = FailureClass.NODE_LOST, message: str = "boom", **fields: Any
) -> Ended:
    """
    It has ended badly, by default in a way that is worth another attempt.
    """
    failure = Failure.of(failure_class, f"test.{failure_class}", message)
    return ended(at, finding(Ending.FAILED, failure=failure), **fields)


def refused(at: datetime = START, failure_class: FailureClass = FailureClass.SUBMISSION_REFUSED) -> Refused:
    """
    The engine says no.
    """
    return Refused(at=at, by="fake.launch", failure=Failure.of(failure_class, "test.refused", "no"))


def unreachable(at: datetime = START) -> Unreachable:
    """
    No answer.
    """
    return Unreachable(at=at, by="fake.look", reason="no answer")


def told(job: Job | None, *inputs: Input, every_s: float = 1.0, now: datetime | None = None) -> Job:
    """
    The job after the inputs reached it, `every_s` seconds apart, observations fresh; the first at `now` if given.
    """
    at = now or (job.updated_at + timedelta(seconds=every_s) if job else START)
    for given in inputs:
        if isinstance(given, Absent | Present | Ended | Refused | Unreachable):
            given = msgspec.structs.replace(given, at=at)
        job = step(job, given, at).after
        at += timedelta(seconds=every_s)
    assert job is not None
    return job


def job(
    phase: Phase = Phase.QUEUED,
    *,
    attempts: int = 1,
    cause: StopCause = StopCause.CANCEL,
    doubt: Doubt = Doubt.SUBMIT_UNANSWERED,
    uid: str = UID,
    labels: Mapping[str, str] | None = None,
    **fields: Any,
) -> Job:
    """
    A job in that phase.

    attempts: how many it has begun when it gets there; the earlier ones lost their node. cause: why it stops (also for
    a doubt about a stop). doubt: why it is uncertain. fields: of its spec.
    """
    asked = spec(**fields)
    if cause is StopCause.DEADLINE and asked.deadline_s is None:
        asked = msgspec.structs.replace(asked, deadline_s=60.0)
    if cause is StopCause.START_DEADLINE and asked.start_deadline_s is None:
        asked = msgspec.structs.replace(asked, start_deadline_s=60.0)
    opening = submit(asked, uid=uid, labels=labels or {}, request_id=f"request-of-{uid}")
    built = told(None, opening)
    for _ in range(attempts - 1):
        built = _again(built)
    return _PATHS[phase](built, cause, doubt)


def order(of: Job) -> Order:
    """
    What the engine would be sent for the job's latest attempt, or its first.
    """
    number = max(1, len(of.attempts))
    return Order(
        handle=handle_of(of.uid, number),
        uid=of.uid,
        namespace=of.namespace,
        name=of.name,
        attempt=number,
        spec=of.spec,
        resources=of.attempt.resources if of.attempts else of.spec.resources,
    )


def _again(built: Job) -> Job:
    """
    One failed attempt more, and back in the queue.
    """
    waiting = _backing_off(built)
    assert waiting.backoff_s is not None
    return told(waiting, Due(), every_s=waiting.backoff_s + 1)


def _launching(built: Job) -> Job:
    return told(built, Admit(incarnation=LIFE))


def _running(built: Job) -> Job:
    launching = _launching(built)
    at = launching.updated_at + timedelta(seconds=1)
    return told(launching, present(at, started_at=at))


def _backing_off(built: Job) -> Job:
    return told(_running(built), failed())


def _stopping(built: Job, cause: StopCause) -> Job:
    match cause:
        case StopCause.CANCEL:
            return told(_running(built), Cancel(by="ann"))
        case StopCause.SUSPEND:
            return told(_running(built), Suspend(by="ann"))
        case StopCause.LOST:
            return told(_running(built), absent(proven=True))
        case StopCause.DEADLINE:
            assert built.spec.deadline_s is not None
            return told(_running(built), Due(), every_s=built.spec.deadline_s)
        case StopCause.START_DEADLINE:
            assert built.spec.start_deadline_s is not None
            return told(_launching(built), Due(), every_s=built.spec.start_deadline_s)


def _uncertain(built: Job, cause: StopCause, doubt: Doubt) -> Job:
    match doubt:
        case Doubt.SUBMIT_UNANSWERED:
            return told(_launching(built), unreachable())
        case Doubt.ABSENCE_UNPROVEN:
            return told(_launching(built), absent())
        case Doubt.ENGINE_FORGOT:
            return told(_running(built), absent(incarnation="life-2"))
        case Doubt.STOP_UNCONFIRMED:
            stopping = _stopping(built, cause)
            return told(stopping, unreachable(), every_s=stopping.spec.stop_grace_s + STOP_PATIENCE_S)
        case Doubt.GONE_UNPROVEN:
            return told(_running(built), failed(gone=Verdict.UNKNOWN))
        case Doubt.OUTCOME_UNKNOWN:
            return told(_running(built), ended(START, finding(Ending.UNKNOWN)))


_PATHS: Mapping[Phase, Callable[[Job, StopCause, Doubt], Job]] = {
    Phase.QUEUED: lambda built, cause, doubt: built,
    Phase.LAUNCHING: lambda built, cause, doubt: _launching(built),
    Phase.RUNNING: lambda built, cause, doubt: _running(built),
    Phase.STOPPING: lambda built, cause, doubt: _stopping(built, cause),
    Phase.BACKING_OFF: lambda built, cause, doubt: _backing_off(built),
    Phase.SUSPENDED: lambda built, cause, doubt: told(built, Suspend(by="ann")),
    Phase.UNCERTAIN: lambda built, cause, doubt: _uncertain(built, cause, doubt),
    Phase.SUCCEEDED: lambda built, cause, doubt: told(_running(built), ended()),
    Phase.FAILED: lambda built, cause, doubt: told(_running(built), failed(failure_class=FailureClass.USER_ERROR)),
    Phase.CANCELLED: lambda built, cause, doubt: told(
        _stopping(built, StopCause.CANCEL), ended(START, finding(Ending.TERMINATED), stopped=True)
    ),
}


def resolve(answer: Any = "absent", **fields: Any) -> Resolve:
    """
    A person's word on an uncertain job.
    """
    given: dict[str, Any] = {"by": "ann", "answer": answer, "because": "she looked"}
    return Resolve(**(given | fields))
