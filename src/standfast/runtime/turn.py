"""
One turn: what was seen reaches the jobs it is about, in one commit; what must be done next comes back.

Belongs here: load, step, commit, retake. Nothing is kept between two turns, so a restart is the ordinary path.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import structlog

from standfast.core.errors import IllegalTransition
from standfast.core.job.inputs import Due, Removed
from standfast.core.job.machine import Step, step
from standfast.core.job.observation import Observation
from standfast.core.job.state import HOLDS_SLOT, Job, Phase
from standfast.ports.store import Lost
from standfast.runtime.world import EVENTS, FREED, QUEUED, TURN, World

log = structlog.get_logger(__name__)

RETAKES = 10
"""How often a lost swap is taken again in one turn; after that, the job's wake time brings it back."""


class Told(msgspec.Struct, frozen=True, gc=False):
    """
    One input for one job. handle: the attempt it is about; dropped if the job has moved on to another. None: any.

    job: the job as whoever asked knows it, so that it need not be loaded; an old one loses its swap and is.
    """

    uid: str
    handle: str | None
    given: Observation | Due | Removed
    job: Job | None = None


async def take(world: World, told: Sequence[Told]) -> list[Step]:
    """
    Let every input reach its job and commit what it changed; returns the steps that won, in the order given.

    Inputs that tell nothing new write nothing, and are not returned. Several for one job are taken in order, each on
    what the one before made of it, and written together. A lost swap is retaken on the stored job.

    Raises:
        Unavailable: The store did not take them; nothing of this turn is durable.
    """
    known = {one.uid: one.job for one in told if one.job is not None}
    steps = await _steps(world, told, known)
    won, lost = _parted(steps, await commit(world, steps))
    for _ in range(RETAKES - 1):
        if not lost:
            break
        told = [one for one in told if one.uid in lost]
        steps = await _steps(world, told, {})
        again, lost = _parted(steps, await commit(world, steps))
        won += again
    return won


async def commit(world: World, steps: Sequence[Step]) -> list[Job | Lost]:
    """
    Commit the steps of existing jobs and hint whoever waits for news.
    """
    if not steps:
        return []
    answers = await world.store.commit(steps)
    wake(world, steps)
    return [answer for answer in answers if isinstance(answer, Job | Lost)]


def wake(world: World, steps: Iterable[Step]) -> None:
    """
    Hint whoever waits for what these committed steps, the last of each job, may have changed, and nobody else.

    Who waits for wake times is told by the loop, which knows when it would wake by itself.
    """
    told = queued = freed = False
    for s in steps:
        before, phase = s.before, s.after.phase
        if s.events:
            told = True
        if phase is Phase.QUEUED:
            queued = True
        elif before is not None and before.phase in HOLDS_SLOT and phase not in HOLDS_SLOT:
            freed = True
    hint = world.wakeups.hint
    if told:
        hint(EVENTS)
    if queued:
        hint(QUEUED)
    if freed:
        hint(FREED)
    if queued or freed:
        hint(TURN)


async def _steps(world: World, told: Sequence[Told], jobs: dict[str, Job]) -> list[Step]:
    """
    What the inputs make of the jobs, one after the other; `jobs` are those in hand, the others are loaded.
    """
    missing = dict.fromkeys(one.uid for one in told if one.uid not in jobs)
    if missing:
        jobs.update((job.uid, job) for job in await world.store.load(list(missing)))
    now = world.clock.now()
    steps: list[Step] = []
    for one in told:
        job = jobs.get(one.uid)
        if job is None or not _concerns(job, one):
            continue
        try:
            taken = step(job, one.given, now)
        except IllegalTransition:
            # A bug of ours: this job stays as it is and a person is told; the others must not suffer.
            log.exception("illegal_transition", uid=job.uid, phase=job.phase, given=type(one.given).__name__)
            continue
        if taken.events or taken.after.wake_at != job.wake_at:
            steps.append(taken)
            jobs[one.uid] = taken.after
    return steps


def _parted(steps: Sequence[Step], answers: Sequence[Job | Lost]) -> tuple[list[Step], set[str]]:
    """
    The steps that won, and the uids of those that lost.
    """
    won: list[Step] = []
    lost: set[str] = set()
    for taken, answer in zip(steps, answers, strict=True):
        if isinstance(answer, Lost):
            lost.add(answer.uid)
        else:
            won.append(taken)
    return won, lost


def _concerns(job: Job, one: Told) -> bool:
    return one.handle is None or (bool(job.attempts) and job.attempt.handle == one.handle)
