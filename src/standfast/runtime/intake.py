"""
How commands come in: validated, stepped, committed; the request is over when that is durable. No engine is called.

Belongs here: what API, command line and embedded callers share. Not here: HTTP, or what a command means (core).
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from standfast.core.errors import (
    FieldError,
    InvalidSpec,
    KeyReused,
    NotFound,
    Rejected,
    StandfastError,
    Unavailable,
    field_error,
)
from standfast.core.job.attempt import handle_of
from standfast.core.job.inputs import Cancel, Remainder, Resolve, Resume, Submit, Suspend
from standfast.core.job.machine import Step, step
from standfast.core.job.spec import Spec, check, check_names, digest
from standfast.core.job.state import Job
from standfast.ports.engine import Order
from standfast.ports.store import Committed, Lost
from standfast.runtime.admission import Admission
from standfast.runtime.archive import forget_archive
from standfast.runtime.turn import wake
from standfast.runtime.world import World

SWAP_TRIES = 20
"""How often a command that lost its swap is taken again before the caller is told to come back."""

CARRY_ON_S = 0.5
"""Wait before a store that does not answer is asked again what became of a commit."""


class Submission(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    What a caller asks for, before it has an identity of ours. request_id None: the caller will not ask twice.
    """

    spec: Spec
    name: str
    namespace: str = "default"
    labels: Mapping[str, str] = {}
    request_id: str | None = None
    retry_of: str | None = None


class Accepted(msgspec.Struct, frozen=True):
    """
    The durable job. replayed: this very command had been accepted before, and this is its job as it is now.
    """

    job: Job
    replayed: bool


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """
    What a submission would do: the job as it would be accepted, and the exact engine call of its first attempt.
    """

    job: Job
    handle: str
    engine_call: Mapping[str, Any]


class Following(Protocol):
    """
    Who does what accepted commands ask for: the loop.
    """

    @property
    def admission(self) -> Admission:
        """
        Who may start at once.
        """
        ...

    def moved(self, steps: Sequence[Step]) -> None:
        """
        These steps won; do now what they ask for.
        """
        ...

    def carry_on(self, work: Coroutine[Any, Any, None]) -> None:
        """
        Finish what a caller left behind.
        """
        ...


class Intake:
    """
    The door for commands. loop: does at once what they ask for; without one they are stored, and wait.
    """

    def __init__(self, world: World, loop: Following | None = None) -> None:
        self._world = world
        self._loop = loop

    async def submit(self, submission: Submission, *, by: str) -> Accepted:
        """
        Accept the work once per (namespace, request id), durably.

        Raises:
            InvalidSpec: Every wrong field; nothing was stored, and the request id is not used up.
            KeyReused: The request id made another job; nothing was stored.
            Unavailable: Not known whether it was stored; send the same again.
        """
        given = self._opening(submission, by)
        answers = await self._enter([given])
        return self._accepted(given, answers[0])

    async def submit_many(self, submissions: Sequence[Submission], *, by: str) -> list[Accepted | StandfastError]:
        """
        Accept each by itself, all with one flush; the answers in order, a refusal in the place of its submission.
        """
        answers: list[Accepted | StandfastError | None] = [None] * len(submissions)
        steps: list[tuple[int, Step]] = []
        for index, submission in enumerate(submissions):
            try:
                steps.append((index, self._opening(submission, by)))
            except StandfastError as error:
                answers[index] = error
        for (index, given), committed in zip(steps, await self._enter([s for _, s in steps]), strict=True):
            try:
                answers[index] = self._accepted(given, committed)
            except StandfastError as error:
                answers[index] = error
        return [answer for answer in answers if answer is not None]

    def plan(self, submission: Submission, *, by: str) -> Planned:
        """
        All checks of a real submission and what it would send; nothing is stored, nobody is asked.

        Raises:
            InvalidSpec: As for `submit`.
        """
        job = self._opening(submission, by).after
        handle = handle_of(job.uid, 1)
        call = self._world.engines[job.spec.engine].call(order_of(job, handle, 1))
        return Planned(job=job, handle=handle, engine_call=call)

    async def command(self, uid: str, command: Cancel | Suspend | Resume | Resolve) -> Job:
        """
        Let the command reach the job; returns when what it caused is durable, not when it is done outside.

        Raises:
            NotFound: No such job. Rejected: It does not fit the phase; nothing changed. Unavailable: Not known.
        """
        for _ in range(SWAP_TRIES):
            job = await self.job(uid)
            taken = step(job, command, self._world.clock.now(), actor=command.by)
            if not taken.events:
                return job
            (committed,) = await self._commit([taken])
            if isinstance(committed, Job):
                return committed
        raise Unavailable(f"{uid} changes too fast just now", code="store_busy", retry_after_s=0.1)

    async def retry(
        self, uid: str, *, request_id: str | None, changes: Mapping[str, Any] | None = None, by: str
    ) -> Accepted:
        """
        A new job like the finished one, with `retry_of` and with `changes` merged into its spec (RFC 7396).

        Raises:
            NotFound: No such job. Rejected: It is not finished. InvalidSpec, KeyReused, Unavailable: As for `submit`.
        """
        job = await self.job(uid)
        if not job.phase.final:
            raise Rejected(f"{uid} is {job.phase}, not finished", hint="Wait for its end, or cancel it first.")
        spec = job.spec
        if changes:
            try:
                spec = msgspec.convert(_merged(msgspec.to_builtins(spec), changes), Spec)
            except msgspec.ValidationError as error:
                raise InvalidSpec([field_error(error, at="/set")]) from error
        submission = Submission(
            spec=spec,
            name=job.name,
            namespace=job.namespace,
            labels=job.labels,
            request_id=request_id,
            retry_of=job.uid,
        )
        return await self.submit(submission, by=by)

    async def delete(self, uid: str) -> None:
        """
        Remove a finished job for good: what its engine keeps of it, then its record and its events.

        Raises:
            NotFound: No such job. Rejected: It is not finished. Unavailable: Perhaps part of it is left; do it again.
        """
        job = await self.job(uid)
        if not job.phase.final:
            raise Rejected(
                f"{uid} is {job.phase}, not finished", hint="Cancel it first; a record goes only with its job."
            )
        await forget(self._world, job)

    async def job(self, uid: str) -> Job:
        """
        The job of that uid.

        Raises:
            NotFound: No such job.
        """
        found = await self._world.store.load([uid])
        if not found:
            raise NotFound(f"there is no job {uid}", code="job_not_found")
        return found[0]

    def _opening(self, submission: Submission, by: str) -> Step:
        """
        The checked submission as a job's first step.
        """
        world = self._world
        spec = submission.spec
        wrong = check_names(submission.name, submission.namespace, submission.labels) + check(spec)
        engine = world.engines.get(spec.engine)
        if engine is None:
            known = ", ".join(sorted(world.engines)) or "none"
            wrong.append(FieldError("/spec/engine", "unknown_engine", f"no such engine here; there are: {known}"))
        else:
            wrong += engine.check(spec)
        request_id = submission.request_id
        if request_id is not None and not (1 <= len(request_id) <= 255 and request_id.isprintable()):
            wrong.append(FieldError("/request_id", "malformed", "must be 1..255 printable characters"))
        if wrong:
            raise InvalidSpec(wrong)
        command = Submit(
            uid=world.ids.job_uid(),
            namespace=submission.namespace,
            name=submission.name,
            request_id=request_id or world.ids.request_id(),
            digest=digest((submission.namespace, submission.name, submission.labels, spec, submission.retry_of)),
            spec=spec,
            by=by,
            labels=submission.labels,
            retry_of=submission.retry_of,
        )
        return step(None, command, world.clock.now(), actor=by)

    def _accepted(self, given: Step, committed: Committed) -> Accepted:
        if isinstance(committed, Job):
            return Accepted(committed, replayed=False)
        if isinstance(committed, Lost):
            raise Unavailable(f"{committed.uid} could not be stored", code="store_busy")
        stored = committed.job
        if stored.digest != given.after.digest:
            raise KeyReused(
                request_id=stored.request_id,
                uid=stored.uid,
                stored_digest=stored.digest,
                given_digest=given.after.digest,
            )
        return Accepted(stored, replayed=True)

    async def _enter(self, opened: Sequence[Step]) -> list[Committed]:
        """
        Commit the first steps of new jobs, and in the same commit the admission of those that may start at once; for
        each the job as it then is, or why there is none.
        """
        if self._loop is None:
            return await self._commit(opened)
        steps = await self._loop.admission.enter(opened)
        answers = await self._commit(steps, entering=True)
        if len(steps) == len(opened):
            return answers
        latest: dict[str, Committed] = {}
        for given, answer in zip(steps, answers, strict=True):
            if given.before is None or isinstance(answer, Job):
                latest[given.after.uid] = answer
        return [latest[given.after.uid] for given in opened]

    async def _commit(self, steps: Sequence[Step], *, entering: bool = False) -> list[Committed]:
        """
        Commit and follow. entering: the admission waits to be told how it went.
        """
        answers: list[Committed] = []
        under_way = False
        try:
            answers = await self._world.store.commit(steps)
        except asyncio.CancelledError:
            if self._loop is not None:
                # Perhaps they are written all the same, and then somebody must follow them.
                under_way = True
                self._loop.carry_on(self._carry_on(steps, entering=entering))
            raise
        finally:
            if entering and not under_way and self._loop is not None:
                self._loop.admission.entered(steps, answers)
        self._follow([s for s, answer in zip(steps, answers, strict=True) if isinstance(answer, Job)])
        return answers

    def _follow(self, won: Sequence[Step]) -> None:
        """
        Have done what the steps ask for, which are durable.
        """
        latest = list({s.after.uid: s for s in won}.values())
        wake(self._world, latest)
        if self._loop is not None:
            self._loop.moved(latest)

    async def _carry_on(self, steps: Sequence[Step], *, entering: bool) -> None:
        """
        Find out what became of a commit whose caller went away, by sending the same again; and follow what is stored.

        No launch can be sent twice by it: a step is followed by the one who committed it, and that caller is gone. What
        somebody has moved on since is not as the step left it, and is followed by them.
        """
        told: list[Committed] = []
        try:
            while True:
                try:
                    await self._world.store.commit(steps)
                    stored = {job.uid: job for job in await self._world.store.load([s.after.uid for s in steps])}
                    break
                except Unavailable:
                    await self._world.clock.sleep(CARRY_ON_S)
            told += (stored.get(s.after.uid) or Lost(s.after.uid) for s in steps)
        finally:
            if entering and self._loop is not None:
                self._loop.admission.entered(steps, told)
        self._follow([s for s in steps if stored.get(s.after.uid) == s.after])


def order_of(job: Job, handle: str, number: int) -> Order:
    """
    What an engine gets for attempt `number` of the job; the same bytes every time.
    """
    resources = job.attempts[number - 1].resources if len(job.attempts) >= number else job.spec.resources
    return Order(
        handle=handle,
        uid=job.uid,
        namespace=job.namespace,
        name=job.name,
        attempt=number,
        spec=job.spec,
        resources=resources,
    )


async def forget(world: World, job: Job) -> None:
    """
    Remove all that is left of a finished job, its record last, so that a crash leaves nothing unremembered.
    """
    engine = world.engines.get(job.spec.engine)
    if engine is not None:
        for attempt in job.attempts:
            for what in Remainder:
                await engine.remove(attempt.handle, what)
    await forget_archive(world, job)
    await world.store.remove(job.uid, revision=job.revision)


def _merged(document: Any, changes: Mapping[str, Any]) -> Any:
    """
    JSON Merge Patch. Source: RFC 7396, section 2.
    """
    merged = dict(document) if isinstance(document, dict) else {}
    for key, value in changes.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping):
            merged[key] = _merged(merged.get(key), value)
        else:
            merged[key] = value
    return merged
