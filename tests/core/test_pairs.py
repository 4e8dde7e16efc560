"""
Every situation against every input: the expected table is written by hand, from what the design says.

A situation is a phase, split where the phase alone does not decide. Cells name the events; `.` is nothing, `!p` a
refusal because of the phase, `!f` a refusal because the job is final.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from standfast.core.errors import Rejected
from standfast.core.failure import FailureClass
from standfast.core.job.attempt import StopCause
from standfast.core.job.evidence import Ending, Verdict
from standfast.core.job.inputs import Admit, Cancel, Due, Input, Remainder, Removed, Resume, Suspend
from standfast.core.job.machine import decide, step
from standfast.core.job.observation import RunState
from standfast.core.job.state import Doubt, Job, Outcome, Phase
from standfast.testing import builders as b

SITUATIONS: dict[str, Callable[[], Job]] = {
    "queued": lambda: b.job(Phase.QUEUED),
    "launching": lambda: b.job(Phase.LAUNCHING),
    "starting": lambda: b.told(b.job(Phase.LAUNCHING), b.present(state=RunState.STARTING)),
    "running": lambda: b.job(Phase.RUNNING),
    "no-contact": lambda: b.told(b.job(Phase.RUNNING), b.unreachable()),
    "stopping": lambda: b.job(Phase.STOPPING),
    "stop-lost": lambda: b.job(Phase.STOPPING, cause=StopCause.LOST),
    "stop-unseen": lambda: b.told(b.job(Phase.LAUNCHING), Cancel(by="ann")),
    "backing": lambda: b.job(Phase.BACKING_OFF),
    "suspended": lambda: b.job(Phase.SUSPENDED),
    "unanswered": lambda: b.job(Phase.UNCERTAIN),
    "unconfirmed": lambda: b.job(Phase.UNCERTAIN, doubt=Doubt.STOP_UNCONFIRMED),
    "remains": lambda: b.job(Phase.UNCERTAIN, doubt=Doubt.GONE_UNPROVEN),
    "untold": lambda: b.job(Phase.UNCERTAIN, doubt=Doubt.OUTCOME_UNKNOWN),
    "succeeded": lambda: b.job(Phase.SUCCEEDED),
    "failed": lambda: b.job(Phase.FAILED),
    "cancelled": lambda: b.job(Phase.CANCELLED),
}

INPUTS: dict[str, Callable[[datetime], Input]] = {
    "submit": lambda at: b.submit(),
    "cancel": lambda at: Cancel(by="bob"),
    "suspend": lambda at: Suspend(by="bob"),
    "resume": lambda at: Resume(by="bob"),
    "say-absent": lambda at: b.resolve("absent"),
    "say-present": lambda at: b.resolve("present"),
    "say-done": lambda at: b.resolve("done", outcome=Outcome.SUCCEEDED),
    "admit": lambda at: Admit(incarnation=b.LIFE),
    "due": lambda at: Due(),
    "removed": lambda at: Removed(what=Remainder.COMPUTE),
    "absent": lambda at: b.absent(at),
    "absent-early": lambda at: b.absent(at, proven=True, quiet_s=3600.0),
    "absent-proven": lambda at: b.absent(at, proven=True),
    "absent-final": lambda at: b.absent(at, proven=True, final=True),
    "absent-elsewhere": lambda at: b.absent(at, proven=True, final=True, incarnation="life-2"),
    "starting": lambda at: b.present(at, state=RunState.STARTING),
    "present": lambda at: b.present(at),
    "ended-well": lambda at: b.ended(at),
    "ended-well-traces": lambda at: b.ended(at, gone=Verdict.UNKNOWN),
    "ended-badly": lambda at: b.failed(at),
    "ended-badly-traces": lambda at: b.failed(at, gone=Verdict.UNKNOWN),
    "ended-in-error": lambda at: b.failed(at, FailureClass.USER_ERROR),
    "ended-by-stop": lambda at: b.ended(at, b.finding(Ending.TERMINATED), stopped=True),
    "refused": lambda at: b.refused(at),
    "unreachable": lambda at: b.unreachable(at),
}

EVENTS = {
    "Begun": ("LaunchBegun",),
    "Resent": ("LaunchRepeated",),
    "Start": ("Started",),
    "Status": ("StatusChanged",),
    "NoCont": ("ContactLost",),
    "Contact": ("ContactRegained",),
    "Stop": ("StopRequested",),
    "Doubt": ("BecameUncertain",),
    "Retry": ("RetryScheduled",),
    "Elapsed": ("BackoffElapsed",),
    "Susp": ("Suspended",),
    "Resumed": ("Resumed",),
    "OK": ("Succeeded",),
    "Fail": ("Failed",),
    "Canc": ("Cancelled",),
    "r:Resent": ("Resolved", "LaunchRepeated"),
    "r:Canc": ("Resolved", "Cancelled"),
    "r:Fail": ("Resolved", "Failed"),
    "r:Retry": ("Resolved", "RetryScheduled"),
    "r:Start": ("Resolved", "Started"),
    "r:Stop": ("Resolved", "StopRequested"),
    "r:OK": ("Resolved", "Succeeded"),
    ".": (),
}

EXPECTED = """
                    queued  launching starting running no-contact stopping stop-lost stop-unseen backing suspended unanswered unconfirmed remains untold  succeeded failed  cancelled
submit              .       .         .        .       .          .        .         .           .       .         .          .           .       .       .         .       .
cancel              Canc    Stop      Stop     Stop    Stop       .        Stop      .           Canc    Canc      Stop       Stop        Stop    Stop    !f        !f      .
suspend             Susp    Stop      Stop     Stop    Stop       !p       Stop      !p          Susp    .         Stop       !p          Stop    Stop    !f        !f      !f
resume              .       .         .        .       .          !p       !p        !p          .       Resumed   !p         !p          !p      !p      !f        !f      !f
say-absent          !p      !p        !p       !p      !p         !p       !p        !p          !p      !p        r:Resent   r:Canc      r:Retry r:Fail  !f        !f      !f
say-present         !p      !p        !p       !p      !p         !p       !p        !p          !p      !p        r:Start    r:Stop      r:Start r:Start !f        !f      !f
say-done            !p      !p        !p       !p      !p         !p       !p        !p          !p      !p        r:OK       r:OK        r:OK    r:OK    !f        !f      !f
admit               Begun   .         .        .       .          .        .         .           .       .         .          .           .       .       .         .       .
due                 .       .         .        .       .          .        .         .           Elapsed .         .          .           .       .       .         .       .
removed             .       .         .        .       .          .        .         .           .       .         .          .           .       .       .         .       .
absent              .       Doubt     Doubt    Doubt   Doubt      .        .         .           .       .         .          .           .       .       .         .       .
absent-early        .       Doubt     Stop     Stop    Stop       .        .         .           .       .         .          .           .       .       .         .       .
absent-proven       .       Resent    Stop     Stop    Stop       .        .         .           .       .         Resent     .           Retry   .       .         .       .
absent-final        .       Retry     Stop     Stop    Stop       Canc     Retry     Canc        .       .         Retry      Canc        Retry   .       .         .       .
absent-elsewhere    .       Doubt     Doubt    Doubt   Doubt      .        .         .           .       .         .          .           .       .       .         .       .
starting            .       Status    .        .       Contact    .        .         .           .       .         Start      .           Start   Start   .         .       .
present             .       Start     Start    .       Contact    .        .         .           .       .         Start      .           Start   Start   .         .       .
ended-well          .       OK        OK       OK      OK         OK       OK        OK          .       .         OK         OK          OK      OK      .         .       .
ended-well-traces   .       OK        OK       OK      OK         .        .         .           .       .         OK         .           OK      OK      .         .       .
ended-badly         .       Retry     Retry    Retry   Retry      Fail     Retry     Fail        .       .         Retry      Fail        Retry   Retry   .         .       .
ended-badly-traces  .       Doubt     Doubt    Doubt   Doubt      .        .         .           .       .         Doubt      .           .       Doubt   .         .       .
ended-in-error      .       Fail      Fail     Fail    Fail       Fail     Fail      Fail        .       .         Fail       Fail        Fail    Fail    .         .       .
ended-by-stop       .       Fail      Fail     Fail    Fail       Canc     Retry     Canc        .       .         Fail       Canc        Fail    Fail    .         .       .
refused             .       Fail      .        .       .          .        .         Fail        .       .         Fail       .           .       .       .         .       .
unreachable         .       Doubt     .        NoCont  .          .        .         .           .       .         .          .           .       .       .         .       .
"""  # noqa: E501 - a table is read by its columns

_HEAD, *_ROWS = [line.split() for line in EXPECTED.strip().splitlines()]
CELLS = [(row[0], situation, cell) for row in _ROWS for situation, cell in zip(_HEAD, row[1:], strict=True)]


def test_the_table_is_complete() -> None:
    """
    The expected table has one cell for every situation and input.
    """
    assert set(_HEAD) == set(SITUATIONS)
    assert {row[0] for row in _ROWS} == set(INPUTS)
    assert {SITUATIONS[name]().phase for name in SITUATIONS} == set(Phase)


@pytest.mark.parametrize(("given", "situation", "cell"), CELLS, ids=[f"{s}-{g}" for g, s, _ in CELLS])
def test_every_input_in_every_situation(given: str, situation: str, cell: str) -> None:
    """
    Each input makes of each situation exactly what the table says, along arrows that exist.
    """
    job = SITUATIONS[situation]()
    now = job.updated_at + timedelta(seconds=700 if given == "due" else 1)

    if cell in ("!p", "!f"):
        with pytest.raises(Rejected) as refusal:
            decide(job, INPUTS[given](now), now)
        assert refusal.value.code == {"!p": "not_in_this_phase", "!f": "already_final"}[cell]
    else:
        taken = step(job, INPUTS[given](now), now)
        assert tuple(type(event).__name__ for event in taken.events) == EVENTS[cell]
        assert taken.after.revision == job.revision + len(taken.events)


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("given", [name for name in INPUTS if not name.startswith(("say-", "cancel", "suspend"))])
def test_the_same_level_twice_is_no_news(given: str, situation: str) -> None:
    """
    An observation that is repeated at once changes nothing the second time, unless it crossed the write boundary anew.
    """
    job = SITUATIONS[situation]()
    now = job.updated_at + timedelta(seconds=700 if given == "due" else 1)
    try:
        first = step(job, INPUTS[given](now), now)
        again = step(first.after, INPUTS[given](now), now)
    except Rejected:
        return
    names = {type(event).__name__ for event in first.events}

    assert again.events == () or names & {"LaunchRepeated", "StatusChanged", "StopRequested"}
