"""
Engine contract: how ends are told.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta

from standfast.core.job.evidence import Ending, Rank, Verdict
from standfast.testing.contracts.engine_bench import Cases, Subject, look, strongest

CASES = Cases()


@CASES.case
async def a_good_end_is_told_with_its_times(subject: Subject) -> None:
    """
    A program that ends well is Ended, unasked, with a finding that says so, and ended no earlier than it started.
    """
    async with subject.opened() as engine:
        order = subject.order(engine, subject.programs.succeed)
        await engine.launch(order)
        seen = await subject.end(engine, order.handle)
        assert strongest(seen).ending is Ending.SUCCEEDED
        assert not seen.stopped
        if seen.started_at is not None and seen.ended_at is not None:
            assert seen.started_at.tzinfo is not None and seen.started_at <= seen.ended_at


@CASES.case
async def a_bad_end_is_told_with_its_cause(subject: Subject) -> None:
    """
    A program that ends badly is Ended with a failed finding that has symptoms or a class.
    """
    async with subject.opened() as engine:
        order = subject.order(engine, subject.programs.fail)
        await engine.launch(order)
        found = strongest(await subject.end(engine, order.handle))
        assert found.ending is Ending.FAILED
        assert found.failure is not None or found.symptoms is not None


@CASES.case
async def exit_codes_are_told_by_who_knows_them(subject: Subject) -> None:
    """
    An engine that knows exit codes has a finding of that rank, with the code.
    """
    async with subject.opened() as engine:
        if "exit_status" not in engine.capabilities:
            return
        order = subject.order(engine, subject.programs.fail)
        await engine.launch(order)
        ended = await subject.end(engine, order.handle)
        codes = [f.symptoms.exit_code for f in ended.findings if f.rank is Rank.EXIT_STATUS and f.symptoms]
        assert codes == [subject.programs.fail_code]


@CASES.case
async def death_is_proven_by_who_can(subject: Subject) -> None:
    """
    Nothing of an ended attempt is alive, and an engine that can prove it does, naming how it knows.
    """
    async with subject.opened() as engine:
        order = subject.order(engine, subject.programs.succeed)
        await engine.launch(order)
        seen = await subject.end(engine, order.handle)
        assert seen.gone_source
        assert (seen.gone is Verdict.PROVEN) == ("proves_gone" in engine.capabilities)


@CASES.case
async def an_end_is_told_the_same_every_time(subject: Subject) -> None:
    """
    Looking at an ended attempt again, also by the next adapter, shows the same findings and, to a second, times.
    """
    async with subject.opened() as engine:
        order = subject.order(engine, subject.programs.fail)
        await engine.launch(order)
        first = await subject.end(engine, order.handle)
    async with subject.opened() as engine:
        again = await subject.end(engine, order.handle)
        assert first.findings == again.findings
        assert first.engine_status == again.engine_status
        if first.ended_at is not None and again.ended_at is not None:
            assert abs(first.ended_at - again.ended_at) < timedelta(seconds=1)


@CASES.case
async def a_change_is_hinted_by_who_hints(subject: Subject) -> None:
    """
    An engine that hints names the handle when it ends, without being asked.
    """
    program = subject.programs.brief
    hinted = asyncio.Event()
    wanted: set[str] = set()

    def hint(handle: str) -> None:
        if handle in wanted:
            hinted.set()

    async with subject.opened(hint) as engine:
        if program is None or "hints" not in engine.capabilities:
            return
        order = subject.order(engine, program)
        wanted.add(order.handle)
        await engine.launch(order)
        async with asyncio.timeout(subject.patience_s):
            while True:
                await hinted.wait()
                hinted.clear()
                if type(await look(engine, order.handle)).__name__ == "Ended":
                    break
