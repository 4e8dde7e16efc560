"""
How an attempt's end is decided from ranked evidence, case by case as real engines contradict themselves.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from standfast.core.failure import Failure, FailureClass, Rule, Symptoms
from standfast.core.job.attempt import StopCause
from standfast.core.job.ending import end_of
from standfast.core.job.evidence import Ending, Finding, Rank, Verdict
from standfast.core.job.inputs import Cancel
from standfast.core.job.machine import step
from standfast.core.job.observation import Ended
from standfast.core.job.state import Job, Outcome, Phase
from standfast.testing import builders as b

R, X, E, W, T = Rank.RECEIPT, Rank.EXIT_STATUS, Rank.END_REPORT, Rank.STATUS_WORD, Rank.TEXT
OK, BAD, TERM, NEVER, HUH = Ending.SUCCEEDED, Ending.FAILED, Ending.TERMINATED, Ending.NEVER_RAN, Ending.UNKNOWN

NATURAL: list[tuple[str, list[tuple[Rank, Ending]], Phase]] = [
    ("exit 0", [(X, OK)], Phase.SUCCEEDED),
    ("exit 3", [(X, BAD)], Phase.FAILED),
    ("receipt failed, exit 0", [(R, BAD), (X, OK)], Phase.FAILED),
    ("receipt succeeded, exit 1", [(R, OK), (X, BAD)], Phase.SUCCEEDED),
    ("receipt succeeded, master says ERROR", [(R, OK), (W, BAD)], Phase.SUCCEEDED),
    ("receipt succeeded, killed afterwards", [(R, OK), (X, TERM)], Phase.SUCCEEDED),
    ("driver FAILED, application FINISHED", [(X, BAD), (W, OK)], Phase.FAILED),
    ("event log exit 0, exit status 1", [(X, BAD), (E, OK)], Phase.FAILED),
    ("event log says failed, text looks well", [(E, BAD), (T, OK)], Phase.FAILED),
    ("state ERROR says nothing, exit 0", [(W, HUH), (X, OK)], Phase.SUCCEEDED),
    ("everything inconclusive", [(W, HUH), (T, HUH)], Phase.UNCERTAIN),
    ("nothing at all", [], Phase.UNCERTAIN),
    ("killed by a stranger", [(X, TERM)], Phase.FAILED),
    ("claimed, never ran", [(E, NEVER)], Phase.BACKING_OFF),
    ("order of findings does not matter", [(T, BAD), (W, BAD), (X, BAD), (R, OK)], Phase.SUCCEEDED),
]


def _ended(findings: list[tuple[Rank, Ending]], **fields: object) -> Ended:
    made = tuple(b.finding(ending, rank) for rank, ending in findings)
    return Ended(
        at=b.START,
        by="fake.look",
        incarnation=b.LIFE,
        findings=made,
        **({"gone": Verdict.PROVEN, "gone_source": "fake"} | fields),  # type: ignore[arg-type]
    )


def _after(job: Job, ended: Ended) -> Job:
    return step(job, ended, job.updated_at + timedelta(seconds=1)).after


@pytest.mark.parametrize(("findings", "phase"), [case[1:] for case in NATURAL], ids=[case[0] for case in NATURAL])
def test_the_strongest_finding_decides(findings: list[tuple[Rank, Ending]], phase: Phase) -> None:
    """
    Receipt over exit status over report over word over text, whatever the others say.
    """
    assert _after(b.job(Phase.RUNNING), _ended(findings)).phase is phase


@pytest.mark.parametrize("findings", [case[1] for case in NATURAL], ids=[case[0] for case in NATURAL])
def test_all_findings_are_kept_with_their_standing(findings: list[tuple[Rank, Ending]]) -> None:
    """
    Every finding stays as evidence: what decided is proven, what disagrees is refuted, what says nothing is unknown.
    """
    job = _after(b.job(Phase.RUNNING), _ended(findings))
    told = job.uncertain.end.evidence if job.uncertain and job.uncertain.end else job.attempt.evidence
    kept = {ev.rank: ev.verdict for ev in told if ev.claim == "outcome"}
    telling = max((f for f in findings if f[1] is not HUH), default=None)

    assert set(kept) == {rank for rank, _ in findings}
    for rank, ending in findings:
        if ending is HUH or telling is None:
            assert kept[rank] is Verdict.UNKNOWN
        else:
            agrees = (ending is OK) == (telling[1] is OK)
            assert kept[rank] is (Verdict.PROVEN if agrees else Verdict.REFUTED)
    assert [ev.verdict for ev in told if ev.claim == "gone"] == [Verdict.PROVEN]


STOPPED: list[tuple[str, StopCause, list[tuple[Rank, Ending]], bool, Phase]] = [
    ("cancel, obeyed", StopCause.CANCEL, [(X, TERM)], True, Phase.CANCELLED),
    ("cancel, exit 0 on TERM is no proof of work", StopCause.CANCEL, [(X, OK)], True, Phase.CANCELLED),
    ("cancel, exit 1 on TERM", StopCause.CANCEL, [(X, BAD)], True, Phase.CANCELLED),
    ("cancel, receipt of completed work", StopCause.CANCEL, [(R, OK), (X, TERM)], True, Phase.SUCCEEDED),
    ("cancel came too late for a success", StopCause.CANCEL, [(X, OK)], False, Phase.SUCCEEDED),
    ("cancel came too late for a failure", StopCause.CANCEL, [(X, BAD)], False, Phase.FAILED),
    ("cancel, no evidence at all", StopCause.CANCEL, [], False, Phase.CANCELLED),
    ("cancel, never ran", StopCause.CANCEL, [(E, NEVER)], False, Phase.CANCELLED),
    ("suspend, obeyed", StopCause.SUSPEND, [(X, TERM)], True, Phase.SUSPENDED),
    ("suspend came too late for a success", StopCause.SUSPEND, [(X, OK)], False, Phase.SUCCEEDED),
    ("suspend after a failure of its own", StopCause.SUSPEND, [(X, BAD)], False, Phase.FAILED),
    ("deadline, obeyed", StopCause.DEADLINE, [(X, TERM)], True, Phase.FAILED),
    ("start deadline is worth another try", StopCause.START_DEADLINE, [(X, TERM)], True, Phase.BACKING_OFF),
    ("lost, and then found ended well", StopCause.LOST, [(X, OK)], False, Phase.SUCCEEDED),
    ("lost, and stopped by us", StopCause.LOST, [(X, TERM)], True, Phase.BACKING_OFF),
]


@pytest.mark.parametrize(
    ("cause", "findings", "stopped", "phase"), [case[1:] for case in STOPPED], ids=[case[0] for case in STOPPED]
)
def test_our_stop_explains_an_end_only_if_it_reached_it(
    cause: StopCause, findings: list[tuple[Rank, Ending]], stopped: bool, phase: Phase
) -> None:
    """
    What the attempt did before the stop reached it stands; what it did because of the stop is the stop's.
    """
    assert _after(b.job(Phase.STOPPING, cause=cause), _ended(findings, stopped=stopped)).phase is phase


def test_success_after_a_strangers_stop_needs_a_receipt() -> None:
    """
    Exit 0 after somebody else asked it to stop is a failure from outside; with a receipt it is a success.
    """
    job = b.job(Phase.RUNNING)
    without = _after(job, _ended([(X, OK)], stopped=True))

    assert without.attempt.failure is not None
    assert without.attempt.failure.failure_class is FailureClass.CANCELLED_OUTSIDE
    assert _after(job, _ended([(R, OK), (X, OK)], stopped=True)).outcome is Outcome.SUCCEEDED


def test_a_required_receipt_that_is_missing_is_a_failure() -> None:
    """
    `receipt: required` makes exit 0 without a receipt a failure, and is content with a receipt.
    """
    job = b.job(Phase.RUNNING, receipt="required")
    without = _after(job, _ended([(X, OK)]))

    assert without.attempt.failure is not None and without.attempt.failure.code == "receipt_missing"
    assert _after(job, _ended([(R, OK), (X, OK)])).outcome is Outcome.SUCCEEDED


@pytest.mark.parametrize(("lasted_s", "late"), [(59.0, False), (60.0, False), (60.001, True)])
def test_ended_in_time_is_not_late(lasted_s: float, late: bool) -> None:
    """
    The deadline measures what the engine did: an attempt that ended in time is judged by its own end.
    """
    job = b.job(Phase.STOPPING, cause=StopCause.DEADLINE, deadline_s=60.0)
    began = job.attempt.started_at
    assert began is not None
    seen = _ended([(X, BAD)], stopped=True, started_at=began, ended_at=began + timedelta(seconds=lasted_s))
    failure = _after(job, seen).attempt.failure

    assert failure is not None
    assert (failure.failure_class is FailureClass.TIMEOUT) is late


@pytest.mark.parametrize("cause", list(StopCause))
def test_a_stop_with_proven_remains_never_ends_the_phase(cause: StopCause) -> None:
    """
    `stopping` is left by confirmed death only: an end with something alive changes nothing.
    """
    job = b.job(Phase.STOPPING, cause=cause)
    for gone in (Verdict.REFUTED, Verdict.UNKNOWN, Verdict.NOT_CHECKED):
        assert step(job, _ended([(X, TERM)], stopped=True, gone=gone), job.updated_at).events == ()


@pytest.mark.parametrize("gone", [Verdict.REFUTED, Verdict.UNKNOWN, Verdict.NOT_CHECKED])
def test_no_second_attempt_beside_the_remains_of_the_first(gone: Verdict) -> None:
    """
    A failure worth a retry waits for the proof of death, unless the policy says otherwise.
    """
    careful = _after(b.job(Phase.RUNNING), b.failed(gone=gone))
    policy = b.RetryPolicy(max_attempts=3, unproven_gone=True)
    careless = _after(b.job(Phase.RUNNING, retry=policy), b.failed(gone=gone))

    assert (careful.phase, careless.phase) == (Phase.UNCERTAIN, Phase.BACKING_OFF)


def test_a_known_end_is_kept_through_the_doubt_about_its_remains() -> None:
    """
    Once its death is proven, by whatever answer, the attempt is closed with the failure it had.
    """
    doubted = _after(b.job(Phase.RUNNING), b.failed(failure_class=FailureClass.EVICTED, gone=Verdict.UNKNOWN))
    by_absence = step(doubted, b.absent(proven=True), doubted.updated_at + timedelta(seconds=9)).after
    by_a_look = _after(doubted, b.failed(failure_class=FailureClass.EVICTED))
    by_a_person = step(doubted, b.resolve("absent"), doubted.updated_at + timedelta(seconds=9)).after

    for settled in (by_absence, by_a_look, by_a_person):
        assert settled.phase is Phase.BACKING_OFF
        assert settled.attempt.failure is not None
        assert settled.attempt.failure.failure_class is FailureClass.EVICTED


def _failing(**symptoms: object) -> Finding:
    engine = Failure.of(FailureClass.USER_ERROR, "engine.says", "by the engine's rules")
    return b.finding(BAD, X, failure=engine, symptoms=Symptoms(**symptoms))  # type: ignore[arg-type]


def test_the_users_rules_come_before_the_engines() -> None:
    """
    A spec's exit codes decide first, then its failure rules, then the engine's classification.
    """
    rule = Rule(name="mine", failure_class=FailureClass.DEPENDENCY, code="mine.db", text="no database")
    job = b.job(Phase.RUNNING, exit_codes={"75": FailureClass.THROTTLED}, failure_rules=(rule,))

    def judged(**symptoms: object) -> Failure | None:
        return end_of(job, b.ended(b.START, _failing(**symptoms)), b.START).failure

    by_code, by_rule, by_engine = judged(exit_code=75), judged(exit_code=1, text="no database"), judged(exit_code=1)
    assert by_code is not None and by_code.failure_class is FailureClass.THROTTLED
    assert by_rule is not None and by_rule.failure_class is FailureClass.DEPENDENCY
    assert by_engine is not None and by_engine.code == "engine.says"


def test_never_ran_costs_nothing() -> None:
    """
    Proof that no user code ran is free of charge, and bounded by its own budget.
    """
    job = b.job(Phase.RUNNING, retry=b.RetryPolicy(max_attempts=1, backoff_base_s=0))
    tries = 0
    while not job.phase.final:
        if job.phase is Phase.QUEUED:
            job, tries = b.told(job, b.Admit(incarnation=b.LIFE)), tries + 1
        elif job.phase is Phase.BACKING_OFF:
            job = b.told(job, b.Due())
        else:
            job = b.told(job, _ended([(E, NEVER)]))

    assert job.outcome is Outcome.FAILED
    assert tries == 5
    assert all(attempt.ending is NEVER for attempt in job.attempts)


def test_a_cancelled_job_is_never_retried() -> None:
    """
    A failure worth a retry ends the job for good once a cancel was accepted.
    """
    job = b.told(b.job(Phase.RUNNING), Cancel(by="ann"), b.failed())

    assert job.outcome is Outcome.FAILED
