"""
Engine contract: what is left of an attempt, how it is read, and how it goes.
"""

from __future__ import annotations

from collections.abc import Awaitable

from standfast.core.errors import Gone, NotFound, StandfastError, Unavailable
from standfast.core.job.inputs import Remainder
from standfast.core.job.observation import Absent, Ended, Present
from standfast.testing.contracts.engine_bench import Cases, Subject, look

CASES = Cases()


@CASES.case
async def output_is_read_by_offset(subject: Subject) -> None:
    """
    Chunks put together are the output, byte for byte; a negative offset counts from the end; the end is told.
    """
    async with subject.opened() as engine:
        if subject.programs.prints is None or "logs" not in engine.capabilities:
            return
        order, whole = subject.order(engine, subject.programs.prints), subject.programs.printed
        await engine.launch(order)
        await subject.end(engine, order.handle)
        read, offset = b"", 0
        while True:
            chunk = await engine.read(order.handle, stream="stdout", offset=offset, limit=7)
            assert (chunk.offset, chunk.size) == (offset, len(whole)) and len(chunk.data) <= 7
            read, offset = read + chunk.data, chunk.next_offset
            if chunk.ended:
                break
        assert read == whole
        tail = await engine.read(order.handle, stream="stdout", offset=-3, limit=100)
        assert tail.data == whole[-3:]
        beyond = await engine.read(order.handle, stream="stdout", offset=-10_000, limit=10_000)
        assert beyond.data == whole


@CASES.case
async def output_of_nobody_is_not_found(subject: Subject) -> None:
    """
    There is no output of a handle that was never sent.
    """
    async with subject.opened() as engine:
        order = subject.order(engine, {})
        error = await _error_of(engine.read(order.handle, stream="stdout", offset=0, limit=10))
        assert isinstance(error, NotFound)


@CASES.case
async def removed_output_is_gone(subject: Subject) -> None:
    """
    After its logs were removed the output is Gone, the end is still told, and removing again is fine.
    """
    async with subject.opened() as engine:
        if subject.programs.prints is None or "logs" not in engine.capabilities:
            return
        order = subject.order(engine, subject.programs.prints)
        await engine.launch(order)
        await subject.end(engine, order.handle)
        for _ in range(2):
            await engine.remove(order.handle, Remainder.LOGS)
        error = await _error_of(engine.read(order.handle, stream="stdout", offset=0, limit=10))
        assert isinstance(error, Gone)
        assert isinstance(await look(engine, order.handle), Ended)


@CASES.case
async def a_removed_record_is_forgotten(subject: Subject) -> None:
    """
    After its record was removed the handle is unknown and not listed; removing again, or a stranger, is fine.
    """
    async with subject.opened() as engine:
        order = subject.order(engine, subject.programs.succeed)
        await engine.launch(order)
        await subject.end(engine, order.handle)
        for what in (*Remainder, *Remainder):
            await engine.remove(order.handle, what)
        assert isinstance(await look(engine, order.handle), Absent)
        assert order.handle not in await engine.handles()
        await engine.remove(subject.order(engine, {}).handle, Remainder.RECORD)


@CASES.case
async def what_runs_cannot_be_removed(subject: Subject) -> None:
    """
    Logs and record of an attempt that is alive stay, and it runs on.
    """
    async with subject.opened() as engine:
        order = await subject.running(engine)
        for what in (Remainder.LOGS, Remainder.RECORD):
            assert isinstance(await _error_of(engine.remove(order.handle, what)), Unavailable)
        assert isinstance(await look(engine, order.handle), Present)
        await subject.tidy(engine, order.handle)


async def _error_of(call: Awaitable[object]) -> StandfastError | None:
    """
    The error that the call ends with; None if it answers.
    """
    try:
        await call
    except StandfastError as error:
        return error
    return None
