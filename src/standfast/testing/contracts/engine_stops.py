"""
Engine contract: stopping. A stop may be repeated, and only a look confirms it.
"""

from __future__ import annotations

import asyncio

from standfast.core.job.evidence import Ending
from standfast.core.job.observation import Absent, Ended, Present
from standfast.testing.contracts.engine_bench import Cases, Subject, look, strongest

CASES = Cases()


@CASES.case
async def a_stop_ends_it_and_says_so(subject: Subject) -> None:
    """
    A halted attempt ends within its grace, and its end says that a stop had reached it.
    """
    async with subject.opened() as engine:
        order = await subject.running(engine)
        await engine.halt(order.handle, grace_s=5.0)
        seen = await subject.end(engine, order.handle)
        assert seen.stopped
        assert strongest(seen).ending in (Ending.TERMINATED, Ending.FAILED, Ending.SUCCEEDED)


@CASES.case
async def a_stop_may_be_repeated(subject: Subject) -> None:
    """
    Halting again, at once, in the meantime and afterwards, by another adapter too, raises nothing and changes nothing.
    """
    async with subject.opened() as engine, subject.opened() as other:
        order = await subject.running(engine)
        await asyncio.gather(*(one.halt(order.handle, grace_s=5.0) for one in (engine, other, engine)))
        first = await subject.end(engine, order.handle)
        await other.halt(order.handle, grace_s=5.0)
        assert (await subject.end(other, order.handle)).findings == first.findings
        await subject.ran_once(order.handle)


@CASES.case
async def force_follows_the_grace_of_the_first_stop(subject: Subject) -> None:
    """
    What does not obey is ended by force after the grace, which repeated stops do not restart.
    """
    if subject.programs.stubborn is None:
        return
    async with subject.opened() as engine:
        order = subject.order(engine, subject.programs.stubborn)
        await engine.launch(order)
        await subject.until(engine, order.handle, Present)
        await engine.halt(order.handle, grace_s=1.0)
        async with asyncio.timeout(subject.patience_s):
            while not isinstance(await look(engine, order.handle), Ended):
                await asyncio.sleep(0.2)
                await engine.halt(order.handle, grace_s=1.0)
        seen = await subject.end(engine, order.handle)
        assert seen.stopped
        assert strongest(seen).ending is not Ending.SUCCEEDED


@CASES.case
async def a_stop_comes_too_late_for_an_end(subject: Subject) -> None:
    """
    Halting an attempt that has ended well leaves it ended well, unasked.
    """
    async with subject.opened() as engine:
        order = subject.order(engine, subject.programs.succeed)
        await engine.launch(order)
        first = await subject.end(engine, order.handle)
        await engine.halt(order.handle, grace_s=0.0)
        seen = await subject.end(engine, order.handle)
        assert (seen.stopped, seen.findings) == (False, first.findings)


@CASES.case
async def a_stopped_handle_never_starts(subject: Subject) -> None:
    """
    Halting a handle that was never sent voids it: Absent for good, and a launch that comes later starts nothing.
    """
    async with subject.opened() as engine:
        order = subject.order(engine, subject.programs.last)
        await engine.halt(order.handle, grace_s=0.0)
        seen = await look(engine, order.handle)
        assert isinstance(seen, Absent) and seen.final
        assert not isinstance(await engine.launch(order), Present)
    async with subject.opened() as engine:
        seen = await look(engine, order.handle)
        assert isinstance(seen, Absent) and seen.final
        assert subject.starts is None or subject.starts(order.handle) == 0


@CASES.case
async def a_stop_and_a_launch_at_once_settle(subject: Subject) -> None:
    """
    Whichever of a launch and a stop comes first, in the end nothing of the handle is alive, and nothing starts later.
    """
    async with subject.opened() as engine:
        for _ in range(5):
            order = subject.order(engine, subject.programs.last)
            await asyncio.gather(engine.launch(order), engine.halt(order.handle, grace_s=0.0))
            await engine.halt(order.handle, grace_s=0.0)
            async with asyncio.timeout(subject.patience_s):
                while not _over(seen := await look(engine, order.handle)):  # noqa: ASYNC110 - looks are all there is
                    await asyncio.sleep(0.01)
            assert not isinstance(await engine.launch(order), Present)
            assert type(await look(engine, order.handle)) is type(seen)


def _over(seen: object) -> bool:
    return isinstance(seen, Ended) or (isinstance(seen, Absent) and seen.final)
