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
from standfast.core.job.observation import Absent, Ended, Observation, Present, Refused, Unreachable
from standfast.core.job.state import Job, Phase
from standfast.ports.store import Lost
from standfast.runtime.world import DUE, EVENTS, TURN, World

log = structlog.get_logger(__name__)

RETAKES = 10
"""How often a lost swap is taken again in one turn; after that, the job's wake time brings it back."""


class Told(msgspec.Struct, frozen=True, gc=False):
    """
    One input for one job. handle: the attempt it is about; dropped if the job has moved on to another. None: any.
    """

    uid: str
    handle: str | None
    given: Observation | Due | Removed


OBSERVATIONS = (Absent, Present, Ended, Refused, Unreachable)


async def take(world: World, told: Sequence[Told]) -> list[Step]:
    """
    Let every input reach its job and commit what it changed; returns the steps that won, in the order given.

    Inputs that tell nothing new write nothing, and are not returned. A lost swap is retaken on the fresh job.

    Raises:
        Unavailable: The store did not take them; nothing of this turn is durable.
    """
    won: list[Step] = []
    left = list(told)
    for _ in range(RETAKES):
        if not left:
            break
        steps = await _steps(world, left)
        taken = await commit(world, [s for _, s in steps])
        lost = {answer.uid for answer in taken if isinstance(answer, Lost)}
        won += [s for (_, s), answer in zip(steps, taken, strict=True) if isinstance(answer, Job)]
        left = [one for one in left if one.uid in lost]
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
    Hint whoever waits for what these committed steps may have changed, and nobody else: a needless turn costs a read.
    """
    topics: set[str] = set()
    for s in steps:
        before, after = s.before, s.after
        if s.events:
            topics.add(EVENTS)
        if after.wake_at is not None:
            topics.add(DUE)
        freed = before is not None and before.phase.holds_slot and not after.phase.holds_slot
        if freed or after.phase is Phase.QUEUED:
            topics.add(TURN)
    for topic in topics:
        world.wakeups.hint(topic)


async def _steps(world: World, told: Sequence[Told]) -> list[tuple[Told, Step]]:
    jobs = {job.uid: job for job in await world.store.load(list({one.uid for one in told}))}
    now = world.clock.now()
    steps: list[tuple[Told, Step]] = []
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
            steps.append((one, taken))
            jobs[one.uid] = taken.after
    return steps


def _concerns(job: Job, one: Told) -> bool:
    return one.handle is None or (bool(job.attempts) and job.attempt.handle == one.handle)
