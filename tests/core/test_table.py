"""
What holds of the table of arrows as a whole, and that `evolve` knows no other arrow.
"""

from __future__ import annotations

import itertools
import typing
from collections import defaultdict
from pathlib import Path

import pytest

from standfast.core.errors import IllegalTransition
from standfast.core.job import diagram
from standfast.core.job import events as e
from standfast.core.job.attempt import AttemptEnd, StopCause
from standfast.core.job.evidence import Ending
from standfast.core.job.inputs import Remainder
from standfast.core.job.machine import evolve
from standfast.core.job.state import FINAL, HOLDS_SLOT, Doubt, Phase
from standfast.core.job.table import TRANSITIONS
from standfast.testing import builders as b

END = AttemptEnd(ending=Ending.FAILED)
EVENTS: dict[type[e.Event], e.Event] = {
    type(event): event
    for event in (
        e.Submitted(uid=b.UID, namespace="n", name="n", request_id="r", digest="d", by="ann", spec=b.spec(), labels={}),
        e.LaunchBegun(attempt=b.job(Phase.LAUNCHING).attempt),
        e.LaunchRepeated(because="absent"),
        e.Started(source="fake"),
        e.StatusChanged(source="fake"),
        e.ContactLost(reason="silence", source="fake"),
        e.ContactRegained(source="fake"),
        e.StopRequested(cause=StopCause.CANCEL, by="ann"),
        e.BecameUncertain(doubt=Doubt.ENGINE_FORGOT, message="?", source="fake"),
        e.Resolved(by="ann", answer="absent", because="she looked"),
        e.RetryScheduled(end=END, delay_s=1.0, because="worth it"),
        e.BackoffElapsed(),
        e.Suspended(by="ann"),
        e.Resumed(by="ann"),
        e.Succeeded(end=END),
        e.Failed(end=END, because="no more"),
        e.Cancelled(by="ann"),
        e.RemainderRemoved(what=Remainder.COMPUTE),
    )
}
SOURCES: tuple[Phase | None, ...] = (None, *Phase)


def _reachable(start: Phase | None) -> set[Phase | None]:
    arrows: dict[Phase | None, set[Phase]] = defaultdict(set)
    for (source, _), target in TRANSITIONS.items():
        arrows[source].add(target)
    seen: set[Phase | None] = set()
    ahead = {start}
    while ahead:
        phase = ahead.pop()
        seen.add(phase)
        ahead |= arrows[phase] - seen
    return seen


def test_every_event_is_tried_here() -> None:
    """
    The examples below cover the closed union of events.
    """
    assert set(EVENTS) == set(typing.get_args(e.Event))


@pytest.mark.parametrize(("source", "kind"), list(itertools.product(SOURCES, EVENTS)))
def test_evolve_follows_the_table_and_nothing_else(source: Phase | None, kind: type[e.Event]) -> None:
    """
    An event moves a job along its arrow, or raises IllegalTransition where there is none, leaving the job as it was.
    """
    job = None if source is None else b.job(source)
    if (source, kind) in TRANSITIONS:
        after = evolve(job, EVENTS[kind], b.START)
        assert after.phase is TRANSITIONS[source, kind]
        assert after.revision == (job.revision if job else 0) + 1
    else:
        with pytest.raises(IllegalTransition):
            evolve(job, EVENTS[kind], b.START)


def test_final_phases_absorb() -> None:
    """
    No arrow leads out of a final phase.
    """
    assert {target for (source, _), target in TRANSITIONS.items() if source in FINAL} <= FINAL
    assert all(source is target for (source, _), target in TRANSITIONS.items() if source in FINAL)


def test_every_phase_is_reachable() -> None:
    """
    A submitted job can get into every phase.
    """
    assert _reachable(None) == {None, *Phase}


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase not in FINAL])
def test_every_phase_can_end_in_each_way(phase: Phase) -> None:
    """
    From every phase that is not final, each final phase can be reached.
    """
    assert _reachable(phase) >= FINAL


def test_another_attempt_begins_only_from_the_queue() -> None:
    """
    The write boundary to a new attempt is crossed from `queued` alone, which no phase with a live attempt leads to.
    """
    assert {source for source, event in TRANSITIONS if event is e.LaunchBegun} == {Phase.QUEUED}
    into_queue = {source for (source, _), target in TRANSITIONS.items() if target is Phase.QUEUED}
    assert not into_queue & HOLDS_SLOT


def test_no_event_is_without_an_arrow() -> None:
    """
    Every kind of event has at least one arrow.
    """
    assert {event for _, event in TRANSITIONS} == set(EVENTS)


PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "lifecycle.md"
BEGIN, END_MARK = "<!-- diagram: drawn from core/job/table.py -->\n", "<!-- end of diagram -->"


def _with_diagram(page: str) -> str:
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END_MARK)
    return f"{head}{BEGIN}```mermaid\n{diagram.mermaid()}```\n{END_MARK}{tail}"


def test_the_page_shows_the_table() -> None:
    """
    The diagram in docs/concepts/lifecycle.md is the table; `python tests/core/test_table.py` draws it anew.
    """
    page = PAGE.read_text()

    assert BEGIN in page and END_MARK in page
    assert page == _with_diagram(page)


def test_the_page_explains_every_phase() -> None:
    """
    Every phase has its paragraph on the page.
    """
    page = PAGE.read_text()

    assert [phase for phase in Phase if f"**{phase}**" not in page] == []


if __name__ == "__main__":
    PAGE.write_text(_with_diagram(PAGE.read_text()))
