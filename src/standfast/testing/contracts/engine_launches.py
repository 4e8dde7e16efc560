"""
Engine contract: checking, launching, finding again. At most one run per handle is the fact everything rests on.
"""

from __future__ import annotations

import asyncio

import msgspec

from standfast.core.job.observation import Absent, Ended, Present
from standfast.core.job.spec import Spec
from standfast.testing.contracts.engine_bench import Cases, Subject, look

CASES = Cases()


@CASES.case
async def sound_programs_pass_and_wrong_ones_are_pointed_at(subject: Subject) -> None:
    """
    `check` has nothing against sound programs, and every error points below `/spec/program`.
    """
    engine, programs = subject.make(), subject.programs
    for program in (programs.succeed, programs.fail, programs.last, programs.stubborn, programs.prints):
        if program is not None:
            assert engine.check(Spec(engine=engine.name, program=program)) == []
    wrong = engine.check(Spec(engine=engine.name, program=programs.wrong))
    assert wrong
    assert all(error.pointer.startswith("/spec/program") and error.code and error.message for error in wrong)


@CASES.case
async def the_call_is_plain_json_and_the_same_every_time(subject: Subject) -> None:
    """
    `call` sends nothing, is plain JSON, and says the same twice.
    """
    async with subject.opened() as engine:
        order = subject.order(engine, subject.programs.succeed)
        told = [msgspec.json.encode(engine.call(order), order="deterministic") for _ in range(2)]
        assert told[0] == told[1]
        assert isinstance(await look(engine, order.handle), Absent)


@CASES.case
async def an_unknown_handle_is_absent_and_not_for_good(subject: Subject) -> None:
    """
    A handle that was never sent is Absent in the present life, and may still be sent.
    """
    async with subject.opened() as engine:
        order = subject.order(engine, subject.programs.succeed)
        seen = await look(engine, order.handle)
        assert isinstance(seen, Absent) and not seen.final
        assert seen.incarnation == await engine.incarnation()


@CASES.case
async def a_look_answers_for_every_handle(subject: Subject) -> None:
    """
    One look over many handles, known and unknown, has exactly one answer for each, and none for none.
    """
    async with subject.opened() as engine:
        order = await subject.running(engine)
        strangers = [subject.order(engine, {}).handle for _ in range(300)]
        seen = await engine.look([order.handle, *strangers])
        assert set(seen) == {order.handle, *strangers}
        assert isinstance(seen[order.handle], Present)
        assert dict(await engine.look([])) == {}
        await subject.tidy(engine, order.handle)


@CASES.case
async def a_launch_is_seen_by_its_handle(subject: Subject) -> None:
    """
    What was launched is Present under its handle, with the engine's own word, in the present life.
    """
    async with subject.opened() as engine:
        order = subject.order(engine, subject.programs.last)
        answer = await engine.launch(order)
        assert isinstance(answer, Present)
        seen = await subject.until(engine, order.handle, Present)
        assert seen.engine_status
        assert seen.incarnation == answer.incarnation == await engine.incarnation()
        await subject.tidy(engine, order.handle)


@CASES.case
async def the_same_handle_twice_runs_once(subject: Subject) -> None:
    """
    A launch that is repeated, while it runs and after it ended, starts nothing.
    """
    async with subject.opened() as engine:
        order = await subject.running(engine)
        assert isinstance(await engine.launch(order), Present)
        await engine.halt(order.handle, grace_s=0.0)
        await subject.end(engine, order.handle)
        assert isinstance(await engine.launch(order), Ended)
        await subject.ran_once(order.handle)


@CASES.case
async def many_launches_at_once_run_once(subject: Subject) -> None:
    """
    Eight launches of one handle at the same time, by two adapters, start it once.
    """
    async with subject.opened() as one, subject.opened() as two:
        order = subject.order(one, subject.programs.last)
        await asyncio.gather(*(engine.launch(order) for engine in (one, two) for _ in range(4)))
        await subject.until(one, order.handle, Present)
        await subject.ran_once(order.handle)
        await subject.tidy(one, order.handle)


@CASES.case
async def the_next_adapter_finds_what_runs(subject: Subject) -> None:
    """
    Closing touches nothing that runs, and the next adapter finds it in the same life of the engine.
    """
    async with subject.opened() as engine:
        order, life = await subject.running(engine), await engine.incarnation()
    async with subject.opened() as engine:
        assert isinstance(await look(engine, order.handle), Present)
        assert await engine.incarnation() == life
        assert isinstance(await engine.launch(order), Present)
        await subject.ran_once(order.handle)
        await subject.tidy(engine, order.handle)


@CASES.case
async def handles_are_listed_alive_and_ended(subject: Subject) -> None:
    """
    An engine that lists names all handles it knows; one that does not names none.
    """
    async with subject.opened() as engine:
        alive, ended = await subject.running(engine), subject.order(engine, subject.programs.succeed)
        await engine.launch(ended)
        await subject.end(engine, ended.handle)
        expected = {alive.handle, ended.handle} if "lists" in engine.capabilities else set()
        assert set(await engine.handles()) == expected
        await subject.tidy(engine, alive.handle)
