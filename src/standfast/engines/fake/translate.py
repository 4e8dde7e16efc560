"""
What the fake engine knows of a handle, as observations; pure.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from standfast.core.job.evidence import Ending, Verdict
from standfast.core.job.observation import Absent, Ended, Present, RunState
from standfast.engines.fake.runs import Run
from standfast.engines.fake.script import PLAIN, findings_of
from standfast.ports.engine import Capability


class Look(msgspec.Struct, frozen=True, gc=False):
    """
    One question: when, by which call, of which life of which engine.
    """

    now: datetime
    by: str
    incarnation: str
    engine: str
    capabilities: frozenset[Capability]


def to_absent(look: Look, *, quiet_s: float, final: bool) -> Absent:
    """
    The engine does not know it.
    """
    return Absent(
        at=look.now,
        by=look.by,
        incarnation=look.incarnation,
        proven=Capability.PROVES_GONE in look.capabilities,
        quiet_s=quiet_s,
        final=final,
    )


def to_present(run: Run, look: Look) -> Present:
    """
    It has not ended.
    """
    starting = look.now < run.started_at + timedelta(seconds=run.script.starting_s)
    state = RunState.STARTING if starting else RunState.RUNNING
    if run.asked_at is not None:
        state = RunState.ENDING
    return Present(
        at=look.now,
        by=look.by,
        incarnation=look.incarnation,
        state=state,
        engine_status=state.value.upper(),
        engine_ref=f"run-{run.handle}",
        started_at=None if starting else run.started_at,
    )


def to_ended(run: Run, look: Look) -> Ended:
    """
    It has ended; how far its death is proven depends on the engine, the script, and the time since.
    """
    gone = run.script.gone if look.now >= run.gone_at else Verdict.REFUTED
    if Capability.PROVES_GONE not in look.capabilities and gone is Verdict.PROVEN:
        gone = Verdict.UNKNOWN
    cut_short = run.stopped or run.killed
    return Ended(
        at=look.now,
        by=look.by,
        incarnation=look.incarnation,
        findings=findings_of(run.script, run.ending, look.capabilities, name=look.engine, cut_short=cut_short),
        gone=gone,
        gone_source=f"{look.engine}.processes",
        stopped=run.stopped,
        engine_status=run.ending.value.upper(),
        engine_ref=f"run-{run.handle}",
        started_at=run.started_at,
        ended_at=run.ends_at,
    )


def to_never_ran(handle: str, at: datetime, look: Look) -> Ended:
    """
    Claimed, and proven that no user code ran.
    """
    return Ended(
        at=look.now,
        by=look.by,
        incarnation=look.incarnation,
        findings=findings_of(PLAIN, Ending.NEVER_RAN, look.capabilities, name=look.engine, cut_short=False),
        gone=Verdict.PROVEN,
        gone_source=f"{look.engine}.processes",
        engine_status="NEVER_RAN",
        engine_ref=f"run-{handle}",
        ended_at=at,
    )
