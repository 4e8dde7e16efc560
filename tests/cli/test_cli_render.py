"""
The text for people, byte for byte, with fixed times.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from standfast.cli import manual, render, table, times
from standfast.cli.style import ASCII, PHASE_GLYPHS, Style
from standfast.client import answers, snapshot
from standfast.core.job.state import Doubt, Phase

NOW = datetime(2026, 11, 30, 14, 0, 0, tzinfo=UTC)
PLAIN = Style(colour=False, unicode=True)


def at(minutes: float) -> datetime:
    """
    So many minutes before now.
    """
    return NOW - timedelta(minutes=minutes)


def job(**fields: object) -> answers.Job:
    """
    A running job, but for the fields given.
    """
    whole: dict[str, object] = {
        "uid": "job_7q2m",
        "name": "orders-etl",
        "namespace": "default",
        "revision": 4,
        "engine": "spark",
        "phase": "running",
        "why": answers.Why(reason="Running", message="the engine says RUNNING", since=at(7)),
        "created_at": at(9),
        "created_by": "ana",
        "request_id": "orders-2026-11-30",
        "spec_digest": "sha256:9f1c0123456789",
        "attempt": answers.AttemptRef(number=2, max=3, handle="sf-7q2m-2"),
        "spec": {"engine": "spark", "program": {"main": "/jobs/etl.py", "args": ["--day", "30"]}},
        "engine_status": "RUNNING",
    }
    return answers.Job(**{**whole, **fields})  # type: ignore[arg-type]


UNSURE = job(
    phase="uncertain",
    why=answers.Why(reason="SubmitUnanswered", message="no answer in 10s", since=at(0.87), needs="proof"),
    next=answers.Next(action="look again", at=NOW + timedelta(seconds=30)),
    moves=(answers.Move(verb="cancel", allowed=True), answers.Move(verb="retry", allowed=False, why="not finished")),
    engine_status=None,
)


def test_the_table_of_jobs() -> None:
    """
    Glyph and word for the phase; WHY and NEXT only where the phase does not say it all.
    """
    queued = job(
        name="train",
        uid="job_e5aa",
        engine="ray",
        phase="queued",
        attempt=None,
        why=answers.Why(reason="AwaitingTurn", message="16 of 16 in use", since=at(240)),
        created_at=at(240),
        next=answers.Next(action="launch it"),
    )

    assert render.jobs_table(PLAIN, [UNSURE, job(name="clicks"), queued], NOW, utc=True) == [
        "NAME        UID       ENGINE  PHASE        TRY  AGE  WHY                                 NEXT",
        "orders-etl  job_7q2m  spark   ? uncertain  2/3  9m   SubmitUnanswered: no answer in 10s  look again 14:00:30",
        "clicks      job_7q2m  spark   ● running    2/3  9m   -                                   -",
        "train       job_e5aa  ray     ○ queued     0/1  4h   AwaitingTurn: 16 of 16 in use       launch it",
    ]


def test_a_narrow_terminal_cuts_why_and_next_only() -> None:
    """
    NAME and PHASE stay whole.
    """
    lines = render.jobs_table(PLAIN, [UNSURE], NOW, fit=80, utc=True)

    assert max(map(table.width, lines)) <= 80
    assert lines[1].startswith("orders-etl  job_7q2m  spark   ? uncertain  2/3  9m   Subm") and "…" in lines[1]


def test_describe_is_one_screen() -> None:
    """
    Phase, why, next, moves, attempts, evidence, latest events.
    """
    attempts = [
        answers.Attempt(
            number=1,
            handle="sf-7q2m-1",
            ending="failed",
            begun_at=at(9),
            started_at=at(8),
            ended_at=at(2),
            failure=answers.Failure(failure_class="out_of_memory", code="exit_137", message="executor 3 killed"),
        ),
        answers.Attempt(number=2, handle="sf-7q2m-2", begun_at=at(1.5), mitigation="memory 4096 -> 8192 MiB"),
    ]
    evidence = [
        answers.Evidence(attempt=1, claim="gone", verdict="proven", source="spark.status", at=at(2), detail="FAILED"),
        answers.Evidence(attempt=2, claim="exists", verdict="unknown", source="spark.submit", at=at(1)),
    ]
    events = [answers.Event(seq=9, uid="job_7q2m", type="BecameUncertain", at=at(0.87))]

    assert list(render.describe(PLAIN, UNSURE, attempts, evidence, events, NOW, utc=True)) == [
        "? orders-etl - spark job    job_7q2m   namespace default",
        "     Phase: uncertain since 13:59:07 (52s)   Outcome: -",
        "    Engine: says nothing about it yet",
        "       Why: SubmitUnanswered. no answer in 10s",
        "      Next: look again at 14:00:30",
        "     Moves: cancel",
        "   Request: orders-2026-11-30 (sha256:9f1c01234567)   by ana, 2026-11-30 13:51:00Z",
        "   Program: /jobs/etl.py --day 30",
        "  Attempts: #2 launched  sf-7q2m-2  13:58:30  memory 4096 -> 8192 MiB",
        "            #1 failed  sf-7q2m-1  13:52:00–13:58:00  out_of_memory (exit_137): executor 3 killed",
        "  Evidence: ✓ proven  attempt 1: gone (FAILED)   spark.status   13:58:00",
        "            ? unknown  attempt 2: exists   spark.submit   13:59:00",
        "    Events: 13:59:07 BecameUncertain   (standfast events job_7q2m)",
    ]


def test_explain_numbers_what_would_settle_it() -> None:
    """
    The ways out stand one under the other, strongest first.
    """
    told = answers.Explanation(
        uid="job_7q2m",
        name="orders-etl",
        phase="uncertain",
        why=UNSURE.why,
        next=UNSURE.next,
        known=("attempt 2, handle sf-7q2m-2, stored before it was sent",),
        settles=("it is listed: adopted", "it is proven absent: sent again"),
    )

    assert list(render.explain(PLAIN, UNSURE, told, NOW, utc=True)) == [
        "? uncertain  orders-etl (job_7q2m), since 13:59:07 (52s)",
        "Why              Submit unanswered. no answer in 10s",
        "That means       the launch was sent and no answer came   (standfast explain phase uncertain)",
        "Next             look again at 14:00:30",
        "What is known    attempt 2, handle sf-7q2m-2, stored before it was sent",
        "Would settle it  1. it is listed: adopted",
        "                 2. it is proven absent: sent again",
    ]


def test_every_doubt_is_explained_in_words() -> None:
    """
    Its reason as people say it, and what it means; no name out of the code.
    """
    for doubt in Doubt:
        why = answers.Why(reason=doubt.value, message="m", since=at(1))
        told = answers.Explanation(uid="job_7q2m", name="n", phase="uncertain", why=why)
        text = "\n".join(render.explain(PLAIN, job(phase="uncertain", why=why), told, NOW))

        assert manual.DOUBTS[doubt] in text
        assert doubt.value not in text and doubt.name not in text
    assert not any(doubt.name in line for doubt in Doubt for line in manual.phase_page("uncertain"))


def test_the_engines_last_word_comes_with_its_age_and_note() -> None:
    """
    What it said last is not what it says now; the pids of an orphan are told.
    """
    attempts = [answers.Attempt(number=1, handle="sf-7q2m-1", engine_status="orphaned", engine_note="pids 41, 42")]
    heard = [
        answers.Event(seq=1, uid="job_7q2m", type="Started", at=at(60), data={"engine_status": "running"}),
        answers.Event(seq=2, uid="job_7q2m", type="StatusChanged", at=at(30), data={"engine_status": "orphaned"}),
        answers.Event(seq=3, uid="job_7q2m", type="ContactLost", at=at(1), data={"reason": "silent"}),
    ]
    orphan = job(engine_status="orphaned")
    lines = list(render.describe(PLAIN, orphan, attempts, [], heard, NOW, utc=True))
    ended = [answers.Event(seq=1, uid="job_7q2m", type="Failed", at=at(5), data={"end": {"engine_status": "exited 3"}})]
    over = list(render.describe(PLAIN, job(engine_status="exited 3"), attempts[:0], [], ended, NOW, utc=True))

    assert "    Engine: says orphaned, pids 41, 42, as of 13:30:00 (30m ago)" in lines
    assert "    Engine: says exited 3, as of 13:55:00 (5m ago)" in over


def test_every_phase_has_a_glyph_and_an_ascii_twin() -> None:
    """
    The word is always there; no glyph is lost without UTF-8.
    """
    poor = Style(unicode=False)

    assert set(PHASE_GLYPHS) == set(Phase)
    assert PHASE_GLYPHS == snapshot.GLYPHS, "a notebook shows the same signs"
    for phase in Phase:
        assert phase.replace("_", " ") in PLAIN.state(phase)
        assert poor.state(phase).isascii()
    assert all(chr(code) in "✓✗●○↻‖⊘·→…∞–" for code in ASCII)


def test_colour_is_only_an_extra() -> None:
    """
    With colour the same text stands between the escapes, and columns stay aligned.
    """
    rich = Style(colour=True)
    lines = render.jobs_table(rich, [UNSURE, job(name="clicks")], NOW, utc=True)
    plain = render.jobs_table(PLAIN, [UNSURE, job(name="clicks")], NOW, utc=True)

    assert "\x1b[35m" in lines[1]
    assert [table._ESCAPES.sub("", line) for line in lines] == plain


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("10m", 600), ("1h30m", 5400), ("2d", 172_800), ("250ms", 0.25)]
)
def test_durations(text: str, seconds: float) -> None:
    """
    People write units.
    """
    assert times.parse_duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "5 m", "-3s", "3x", "m5"])
def test_what_is_no_duration(text: str) -> None:
    """
    Anything else is refused with an example.
    """
    with pytest.raises(ValueError, match="for example"):
        times.parse_duration_s(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (52, "52s"), (61, "1m01s"), (540, "9m"), (3599, "59m"), (5400, "1h30m"), (518_400, "6d"), (-5, "0s")],
)
def test_spans(seconds: float, text: str) -> None:
    """
    Two or three characters say enough.
    """
    assert times.span(seconds) == text
