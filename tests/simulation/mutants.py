"""
Mutants: the core, the runtime and the store with one mistake each, as one would make it in good faith.

Belongs here: mistakes that cost somebody a duplicate run, a lost job or a lie. Each must be caught by the simulation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec
import pytest

from standfast.core.failure import Failure, FailureClass
from standfast.core.job import decisions, ending, machine
from standfast.core.job import events as e
from standfast.core.job.attempt import StopCause, handle_of
from standfast.core.job.decisions import DECISIONS
from standfast.core.job.evidence import Verdict
from standfast.core.job.inputs import Cancel
from standfast.core.job.machine import Step
from standfast.core.job.observation import Absent, Ended, Present, Unreachable
from standfast.core.job.state import Job, Phase
from standfast.core.job.timers import wake_at
from standfast.engines.fake import ALL
from standfast.ports.engine import Capability
from standfast.ports.store import Watched
from standfast.runtime import admission, lane, turn
from standfast.runtime.intake import Accepted, Intake, Submission, order_of
from standfast.runtime.lane import Lane
from standfast.runtime.observer import Observer
from standfast.runtime.sweep import Sweep
from standfast.runtime.turn import Told
from standfast.stores.memory.store import MemoryStore
from standfast.testing import builders as b

Patch = pytest.MonkeyPatch
replace = msgspec.structs.replace


def _decide(patch: Patch, phases: Sequence[Phase], given: type, change: Callable[[Any], Any]) -> None:
    """
    In these phases, decide on a changed input.
    """
    for phase in phases:
        right = DECISIONS[phase, given]
        patch.setitem(DECISIONS, (phase, given), lambda job, seen, now, right=right: right(job, change(seen), now))


ALIVE = (Phase.LAUNCHING, Phase.RUNNING, Phase.STOPPING, Phase.UNCERTAIN)


def absence_in_another_life_counts(patch: Patch) -> None:
    """
    The engine restarted and forgot, and that is taken for proof that nothing was started.
    """
    for phase in (Phase.LAUNCHING, Phase.UNCERTAIN):
        right = DECISIONS[phase, Absent]

        def wrong(job: Job, seen: Absent, now: datetime, right: Any = right) -> Any:
            return right(job, replace(seen, incarnation=job.attempt.incarnation), now)

        patch.setitem(DECISIONS, (phase, Absent), wrong)


def absence_is_believed_at_once(patch: Patch) -> None:
    """
    Nobody waits for sends that may still be under way.
    """
    patch.setattr(decisions, "_quiet", lambda attempt, given, now: True)
    patch.setattr(Lane, "_in_doubt", lambda own, handle, seen: seen)


def an_old_absence_counts(patch: Patch) -> None:
    """
    An answer from before the attempt was sent or seen is taken for news.
    """
    patch.setattr(decisions, "_stale", lambda attempt, given, now: False)

    async def wrong(own: Lane, handles: Sequence[str]) -> Any:
        answer = await own._ask("look", own.engine.look(handles)) if handles else {}
        return dict.fromkeys(handles, answer) if isinstance(answer, Unreachable) else answer

    patch.setattr(Lane, "look", wrong)


def a_launch_without_answer_failed(patch: Patch) -> None:
    """
    Silence after a launch is taken for a failed launch, and another attempt begins.
    """

    def wrong(job: Job, seen: Unreachable, now: datetime) -> Any:
        failure = Failure.of(FailureClass.ENGINE_UNREACHABLE, "no_answer", seen.reason, free=True)
        return ending.close(job, ending.end_by_refusal(failure, source=seen.by, now=now), source=seen.by)

    patch.setitem(DECISIONS, (Phase.LAUNCHING, Unreachable), wrong)


def silence_is_death(patch: Patch) -> None:
    """
    A running attempt that the engine does not answer about is taken for lost.
    """

    def wrong(job: Job, seen: Unreachable, now: datetime) -> Any:
        return (e.StopRequested(cause=StopCause.LOST, by="standfast", reason="silence"),)

    patch.setitem(DECISIONS, (Phase.RUNNING, Unreachable), wrong)


def absent_is_dead(patch: Patch) -> None:
    """
    What is absent is not asked to stop, though the engine may still start the handle.
    """
    patch.setattr(
        lane,
        "_settled",
        lambda seen: isinstance(seen, Absent | Ended) and getattr(seen, "gone", Verdict.PROVEN) is Verdict.PROVEN,
    )
    _decide(patch, [Phase.STOPPING], Absent, lambda seen: replace(seen, final=True))


def ended_is_gone(patch: Patch) -> None:
    """
    An end is taken for the end of all its processes.
    """
    _decide(patch, ALIVE, Ended, lambda seen: replace(seen, gone=Verdict.PROVEN))


def a_cancel_beats_a_success(patch: Patch) -> None:
    """
    A job that had succeeded before the cancel reached it is reported as cancelled.
    """

    def wrong(job: Job, seen: Ended, now: datetime) -> Any:
        stop = job.attempt.stop
        if stop is not None and stop.cause is StopCause.CANCEL and seen.gone is Verdict.PROVEN:
            return (e.Cancelled(by=stop.by, end=ending.end_of(job, seen, now)),)
        return right(job, seen, now)

    right = DECISIONS[Phase.STOPPING, Ended]
    patch.setitem(DECISIONS, (Phase.STOPPING, Ended), wrong)


def a_cancel_in_doubt_is_dropped(patch: Patch) -> None:
    """
    A cancel of an uncertain job is accepted and does nothing.
    """
    patch.setitem(DECISIONS, (Phase.UNCERTAIN, Cancel), lambda job, given, now: ())


def the_weakest_evidence_decides(patch: Patch) -> None:
    """
    The engine's word is believed over the exit status and the receipt.
    """
    right = ending.end_of

    def wrong(job: Job, seen: Ended, now: datetime) -> Any:
        weakest = sorted(seen.findings, key=lambda finding: finding.rank)[:1]
        return right(job, replace(seen, findings=tuple(weakest)), now)

    patch.setattr(decisions, "end_of", wrong)


def no_trace_is_no_attempt(patch: Patch) -> None:
    """
    After some sends without a trace the attempt is closed, though a send may be under way.
    """

    def wrong(job: Job, seen: Absent, now: datetime) -> Any:
        events = right(job, seen, now)
        if any(isinstance(event, e.StopRequested) for event in events) and job.attempt.seen_at is None:
            return ending.close(job, ending.end_without_report(job, source=seen.by, now=now), source=seen.by)
        return events

    right = DECISIONS[Phase.LAUNCHING, Absent]
    patch.setattr(decisions, "SENDS_MAX", 2)
    patch.setitem(DECISIONS, (Phase.LAUNCHING, Absent), wrong)


def every_attempt_has_one_name(patch: Patch) -> None:
    """
    The second attempt is sent under the handle of the first.
    """
    patch.setattr(decisions, "handle_of", lambda uid, number: handle_of(uid, 1))


def history_is_rewritten(patch: Patch) -> None:
    """
    A new attempt cleans up behind the old ones.
    """
    right = machine._FOLDS[e.LaunchBegun]

    def wrong(job: Job, event: Any, at: datetime) -> Any:
        changed = right(job, event, at)
        *old, new = changed["attempts"]
        changed["attempts"] = (*(replace(attempt, evidence=()) for attempt in old), new)
        return changed

    patch.setitem(machine._FOLDS, e.LaunchBegun, wrong)  # type: ignore[arg-type]


def stops_are_asked_once(patch: Patch) -> None:
    """
    A stop has no wake time, not even in doubt: whoever asked for it was sure to see it through.
    """
    asked = (Phase.STOPPING, Phase.UNCERTAIN)
    patch.setattr(machine, "wake_at", lambda job, now: None if job.phase in asked else wake_at(job, now))


def launches_are_never_overdue(patch: Patch) -> None:
    """
    A launching job has no wake time: its answer was sure to come.
    """
    patch.setattr(machine, "wake_at", lambda job, now: None if job.phase is Phase.LAUNCHING else wake_at(job, now))
    patch.setattr(Observer, "load", lambda observer, watched: None)


def a_restart_is_a_failure(patch: Patch) -> None:
    """
    What ran when the control plane died is taken for dead with it, and tried anew.
    """
    right = Observer.load

    def wrong(observer: Observer, watched: Iterable[Watched]) -> None:
        known = list(watched)
        right(observer, known)
        lost = b.failed(observer._world.clock.now(), FailureClass.HEAD_LOST)
        observer._lane.tell(Told(one.uid, one.handle, lost) for one in known)

    patch.setattr(Observer, "load", wrong)


def nobody_watches_after_a_restart(patch: Patch) -> None:
    """
    What ran at the start is not watched.
    """
    patch.setattr(Observer, "load", lambda observer, watched: None)


def answers_reach_the_wrong_attempt(patch: Patch) -> None:
    """
    A late answer about an attempt is taken for one about its successor.
    """
    patch.setattr(turn, "_concerns", lambda job, told: True)
    patch.setattr(decisions, "_stale", lambda attempt, given, now: False)


def effect_before_intent(patch: Patch) -> None:
    """
    The launch is sent first, and stored once it worked.
    """
    right = turn.commit

    async def wrong(world: Any, steps: Sequence[Step]) -> Any:
        for s in steps:
            job = s.after
            await world.engines["fake"].launch(order_of(job, job.attempt.handle, job.attempt.number))
        return await right(world, steps)

    patch.setattr(admission, "commit", wrong)


def accepted_before_it_is_durable(patch: Patch) -> None:
    """
    The caller is told at once, and the job is stored a moment later.
    """
    waiting: set[asyncio.Task[Any]] = set()

    async def wrong(intake: Intake, submission: Submission, *, by: str) -> Accepted:
        given = intake._opening(submission, by)
        waiting.add(asyncio.get_running_loop().create_task(intake._commit([given])))
        return Accepted(given.after, replayed=False)

    patch.setattr(Intake, "submit", wrong)


def the_last_writer_wins(patch: Patch) -> None:
    """
    The store does not compare revisions.
    """
    right = MemoryStore._apply

    def wrong(store: MemoryStore, step: Step) -> Any:
        stored = store._jobs.get(step.after.uid)
        return right(store, step if stored is None else replace(step, before=stored))

    patch.setattr(MemoryStore, "_apply", wrong)


def request_ids_are_forgotten(patch: Patch) -> None:
    """
    The store does not look whether a request id has made a job.
    """
    right = MemoryStore._apply

    def wrong(store: MemoryStore, step: Step) -> Any:
        store._requests.clear()
        return right(store, step)

    patch.setattr(MemoryStore, "_apply", wrong)


def orphans_are_left_alone(patch: Patch) -> None:
    """
    Nobody looks for runs that no job wants any more.
    """

    async def wrong(sweep: Sweep, own: Lane) -> int:
        return 0

    patch.setattr(Sweep, "sweep", wrong)


def a_doubt_is_resolved_by_a_guess(patch: Patch) -> None:
    """
    A job that is uncertain for a while is sent again, because it is probably not there.
    """

    def wrong(job: Job, given: Unreachable, now: datetime) -> Any:
        return (e.LaunchRepeated(because="probably not there"),) if job.uncertain and not job.uncertain.cause else ()

    patch.setitem(DECISIONS, (Phase.UNCERTAIN, Unreachable), wrong)
    patch.setattr(decisions, "_quiet", lambda attempt, given, now: True)
    _decide(patch, [Phase.UNCERTAIN], Absent, lambda seen: replace(seen, proven=True, final=False))


def a_sight_ends_the_stop(patch: Patch) -> None:
    """
    An attempt that is seen alive while it is being stopped is taken for stopped, since it will be soon.
    """

    def wrong(job: Job, given: Present, now: datetime) -> Any:
        return ending.close(job, ending.end_without_report(job, source=given.by, now=now), source=given.by)

    patch.setitem(DECISIONS, (Phase.STOPPING, Present), wrong)


HOSTILE: dict[str, Any] = {"crash": 0.0, "slots": 64, "launches": 8, "late": 0.4, "late_s": 8.0}
"""Weather in which answers overtake one another."""

POLLED: dict[str, Any] = {"capabilities": ALL - {Capability.HINTS}, "quiet_s": 0.0}
INNOCENT: dict[str, Any] = {"innocent": True, "kills": False, "forgets": False}

MUTANTS: dict[Callable[[Patch], None], dict[str, Any]] = {
    absence_in_another_life_counts: {},
    absence_is_believed_at_once: {},
    an_old_absence_counts: HOSTILE | POLLED | INNOCENT | {"lose_request": 0.15, "lose_reply": 0.15},
    a_launch_without_answer_failed: {},
    silence_is_death: INNOCENT | {"act_every_s": 15.0},
    absent_is_dead: {},
    ended_is_gone: {},
    a_cancel_beats_a_success: {},
    a_cancel_in_doubt_is_dropped: {},
    the_weakest_evidence_decides: {},
    no_trace_is_no_attempt: {},
    every_attempt_has_one_name: {},
    history_is_rewritten: {},
    stops_are_asked_once: {"lose_request": 0.15},
    launches_are_never_overdue: {},
    a_restart_is_a_failure: {},
    nobody_watches_after_a_restart: {},
    answers_reach_the_wrong_attempt: HOSTILE
    | POLLED
    | {"innocent": False, "kills": True, "act_every_s": 15.0, "lose_request": 0.0, "lose_reply": 0.0},
    effect_before_intent: {},
    accepted_before_it_is_durable: {},
    the_last_writer_wins: {},
    request_ids_are_forgotten: {},
    a_doubt_is_resolved_by_a_guess: {},
    a_sight_ends_the_stop: {},
}
"""Each mistake, and the weather in which it matters, where that is not any."""
