"""
The loop: whoever is due gets a turn, one slow engine delays nobody, idleness costs nothing.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from runtime_bench import LIMITS, Bench, bench

from standfast.core.job.inputs import Cancel
from standfast.core.job.spec import Ttl
from standfast.core.job.state import Phase
from standfast.core.retry import RetryPolicy
from standfast.engines.fake import FakeEngine
from standfast.system.clock import SystemClock


async def test_a_job_goes_its_way_without_being_asked(plane: Bench) -> None:
    """
    Submitted, launched, seen, ended: four durable steps, nothing polled.
    """
    job = await plane.final(await plane.submit())

    kinds = [type(stored.event).__name__ for stored in await plane.store.events(uid=job.uid)]
    assert kinds[0] == "Submitted"
    assert kinds[1] == "LaunchBegun"
    assert kinds[-1] == "Succeeded"
    assert plane.engine.starts(job.attempt.handle) == 1


async def test_a_deadline_ends_an_attempt_by_the_engines_time(plane: Bench) -> None:
    """
    An attempt that runs past its deadline is stopped, and fails as timeout.
    """
    job = await plane.final(await plane.submit(program={"run_s": 60}, deadline_s=0.2))

    assert job.phase is Phase.FAILED
    assert job.attempt.failure is not None and job.attempt.failure.failure_class == "timeout"


async def test_retries_wait_and_go_through_the_queue(plane: Bench) -> None:
    """
    Two failures worth a retry, then success: three attempts, each handle launched once.
    """
    uid = await plane.submit(
        program={"fails": 2, "failure_class": "dependency"}, retry=RetryPolicy(max_attempts=3, backoff_base_s=0.05)
    )

    job = await plane.final(uid)

    assert job.phase is Phase.SUCCEEDED
    assert [plane.engine.starts(attempt.handle) for attempt in job.attempts] == [1, 1, 1]


async def test_a_slow_engine_delays_nobody_else() -> None:
    """
    While one engine takes its time to answer, jobs of another run and end.
    """
    clock = SystemClock()
    slow = FakeEngine(clock, name="slow")
    made = bench(clock=clock, slow=slow)
    await made.loop.start()
    stuck = await made.submit("stuck", engine="slow", program={"answer_s": 0.9, "run_s": 5})

    quick = [await made.submit(f"quick-{n}") for n in range(20)]
    async with asyncio.timeout(0.8):
        for uid in quick:
            await made.final(uid)

    assert (await made.intake.job(stuck)).phase is Phase.LAUNCHING
    await made.loop.stop()


async def test_an_engine_that_cannot_open_holds_up_only_its_own_jobs() -> None:
    """
    A broken engine is tried again in the background; everything else starts.
    """

    class Broken(FakeEngine):
        async def open(self, hint: Any) -> None:
            from standfast.core.errors import Unavailable

            raise Unavailable("no such luck")

    clock = SystemClock()
    made = bench(clock=clock, broken=Broken(clock, name="broken"))
    await made.loop.start()
    waits = await made.submit(engine="broken")

    assert (await made.final(await made.submit())).phase is Phase.SUCCEEDED
    assert (await made.intake.job(waits)).phase is Phase.QUEUED
    await made.loop.stop()


async def test_idle_costs_nothing(plane: Bench) -> None:
    """
    With nothing to do the runtime asks neither store nor engine.
    """
    await plane.final(await plane.submit())
    await asyncio.sleep(0.3)
    calls: list[str] = []

    def counted(target: Any, name: str) -> None:
        method = getattr(target, name)

        async def call(*args: Any, **named: Any) -> Any:
            calls.append(name)
            return await method(*args, **named)

        setattr(target, name, call)

    for name in ("due", "queued", "load", "commit", "slots"):
        counted(plane.store, name)
    counted(plane.engine, "look")
    await asyncio.sleep(0.5)

    assert calls == [], calls


async def test_remainders_go_when_their_time_comes(plane: Bench) -> None:
    """
    Logs go first, the record last, each by its own TTL.
    """
    uid = await plane.submit(program={"output": "words"}, ttl=Ttl(logs_s=0.0, record_s=0.3))
    job = await plane.until(uid, lambda job: job.logs_removed_at is not None)
    assert job.phase is Phase.SUCCEEDED

    async with asyncio.timeout(5):
        while await plane.store.load([uid]):
            await asyncio.sleep(0.02)
    assert list(await plane.engine.handles()) == []


async def test_stopping_leaves_jobs_and_the_next_start_finds_them() -> None:
    """
    A restart is the ordinary path: the same handle, one run, no new attempt.
    """
    first = bench()
    await first.loop.start()
    uid = await first.submit(program={"run_s": 0.4})
    await first.until(uid, lambda job: job.phase is Phase.RUNNING)
    await first.loop.stop()

    second = bench(store=first.store)
    second.world.engines["fake"] = first.engine  # type: ignore[index]
    again = Bench(second.world, type(second.loop)(second.world), second.intake, first.engine, first.store)
    await again.loop.start()
    job = await again.final(uid)

    assert (job.phase, len(job.attempts), first.engine.starts(job.attempt.handle)) == (Phase.SUCCEEDED, 1, 1)
    await again.loop.stop()


async def test_a_clock_set_back_between_two_lives_keeps_nobody_waiting() -> None:
    """
    What the old clock put off by an hour is done at once by the new one.
    """

    class Shifted:
        def __init__(self, by: timedelta) -> None:
            self._clock, self._by = SystemClock(), by

        def now(self) -> datetime:
            return self._clock.now() + self._by

        async def sleep(self, seconds: float) -> None:
            await self._clock.sleep(seconds)

    fast = bench(clock=Shifted(timedelta(hours=1)))
    await fast.loop.start()
    uid = await fast.submit(
        program={"fails": 1, "failure_class": "dependency"}, retry=RetryPolicy(max_attempts=2, backoff_base_s=0.5)
    )
    await fast.until(uid, lambda job: job.phase is Phase.BACKING_OFF)
    await fast.loop.stop()

    right = bench(store=fast.store)
    await right.loop.start()
    job = await right.final(uid)

    assert (job.phase, len(job.attempts)) == (Phase.SUCCEEDED, 2)
    await right.loop.stop()


async def test_a_store_that_refuses_for_a_while_loses_nothing(plane: Bench) -> None:
    """
    Turns that the store did not take are taken again when it does.
    """
    from standfast.core.errors import Unavailable

    real, refusals = plane.store.commit, 3

    async def commit(steps: Any) -> Any:
        nonlocal refusals
        if refusals and any(s.before is not None for s in steps):
            refusals -= 1
            raise Unavailable("the disk is full", code="store_full")
        return await real(steps)

    plane.store.commit = commit  # type: ignore[method-assign]
    job = await plane.final(await plane.submit())

    assert (job.phase, refusals, plane.engine.starts(job.attempt.handle)) == (Phase.SUCCEEDED, 0, 1)


async def test_cancel_is_confirmed_before_it_is_final(plane: Bench) -> None:
    """
    A job that takes its time to die is stopping until it has, and nothing of it is alive when it is cancelled.
    """
    uid = await plane.submit(program={"run_s": 60, "stop_s": 0.3}, stop_grace_s=5)
    await plane.until(uid, lambda job: job.phase is Phase.RUNNING)

    stopping = await plane.intake.command(uid, Cancel(by="ann", reason="enough"))
    assert stopping.phase is Phase.STOPPING
    job = await plane.final(uid)

    assert (job.phase, plane.engine.alive()) == (Phase.CANCELLED, [])


async def test_orphans_of_superseded_attempts_are_stopped(plane: Bench) -> None:
    """
    A run that turns up after its job was cancelled is swept away; one that nobody knows is left alone.
    """
    from standfast.core.job.spec import Resources, Spec
    from standfast.ports.engine import Order

    uid = await plane.submit(start_at=plane.world.clock.now() + timedelta(hours=1))
    await plane.intake.command(uid, Cancel(by="ann"))
    for owner in (uid, "job_" + "0" * 26):
        late = Order(
            handle=f"sf-{owner.removeprefix('job_')}-1",
            uid=owner,
            namespace="default",
            name="late",
            attempt=1,
            spec=Spec(engine="fake", program={"run_s": 60}),
            resources=Resources(),
        )
        await plane.engine.launch(late)

    async with asyncio.timeout(5):
        while len(plane.engine.alive()) > 1:
            await asyncio.sleep(0.02)

    assert [run.handle for run in plane.engine.alive()] == ["sf-" + "0" * 26 + "-1"]


async def test_limits_bound_launches_under_way() -> None:
    """
    No more launches are under way at once than the limit says.
    """
    made = bench(limits=replace(LIMITS, launches=3, slots=50))
    under_way, most = 0, 0
    real = made.engine.launch

    async def launch(order: Any) -> Any:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.01)
        under_way -= 1
        return await real(order)

    made.engine.launch = launch  # type: ignore[method-assign]
    await made.loop.start()
    for uid in [await made.submit(f"job-{n}") for n in range(20)]:
        await made.final(uid)

    assert most == 3
    await made.loop.stop()
