"""
Output of attempts over HTTP: by offset, or followed across attempts until the job is final.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from datetime import timedelta

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from standfast.api import sse
from standfast.api.auth import Caller
from standfast.api.history import attempt_of
from standfast.api.problems import invalid_query
from standfast.api.reading import choice, flag, number
from standfast.api.route import Desk
from standfast.core.errors import Gone, NotFound, StandfastError, Unavailable
from standfast.core.job.state import Job
from standfast.ports.engine import Capability, Chunk, Engine

LIMIT_MAX = 1024 * 1024
PIECE = 64 * 1024
PAUSE_S = 0.1
PAUSE_MAX_S = 1.0
STREAMS = ("stdout", "stderr")


async def read(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    GET /v1/jobs/{uid}/logs.
    """
    job = await desk.intake.job(request.path_params["uid"])
    stream = choice(request, "stream", STREAMS, "stdout")
    only = number(request, "attempt", default=0, least=1) or None
    cursor = number(request, "cursor", default=0, least=0)
    tail = number(request, "tail", default=0, least=0, most=LIMIT_MAX)
    limit = number(request, "limit", default=256 * 1024, least=1, most=LIMIT_MAX)
    if sse.wanted(request, flag(request, "follow")):
        place = _place_of(request, only, cursor)
        return await sse.stream(_counted(desk, _followed(desk, job.uid, stream, only, place)))
    if not job.attempts:
        raise NotFound(f"{job.uid} has no attempt yet", code="logs_not_found")
    attempt = attempt_of(job, str(only)) if only else job.attempt
    engine = engine_of(desk, job)
    if job.logs_removed_at is not None:
        raise Gone(f"the output of {job.uid} was removed", code="logs_gone")
    try:
        chunk = await engine.read(attempt.handle, stream=stream, offset=-tail if tail else cursor, limit=limit)
    except StandfastError as error:
        raise _in_words_of_logs(error) from error
    headers = {
        "Next-Cursor": str(chunk.next_offset),
        "Log-Offset": str(chunk.offset),
        "Log-Size": str(chunk.size),
        "Log-Ended": "true" if chunk.ended else "false",
        "Log-Attempt": str(attempt.number),
        "X-Content-Type-Options": "nosniff",
    }
    return Response(chunk.data, 200, headers, "text/plain; charset=utf-8")


def engine_of(desk: Desk, job: Job) -> Engine:
    """
    The job's engine.

    Raises:
        Unavailable: It is not part of this control plane. NotFound: It keeps no output.
    """
    engine = desk.world.engines.get(job.spec.engine)
    if engine is None:
        raise Unavailable(f"engine {job.spec.engine} is not configured here", code="engine_unreachable")
    if Capability.LOGS not in engine.capabilities:
        raise NotFound(f"engine {job.spec.engine} keeps no output", code="logs_not_found")
    return engine


def _in_words_of_logs(error: StandfastError) -> StandfastError:
    """
    The engine's refusal under the code that this route promises.
    """
    hint = error.hint
    if isinstance(error, NotFound):
        return NotFound(error.message, code="logs_not_found", hint=hint)
    if isinstance(error, Gone):
        return Gone(error.message, code="logs_gone", hint=hint)
    if isinstance(error, Unavailable):
        return Unavailable(error.message, code="engine_unreachable", hint=hint, retry_after_s=error.retry_after_s)
    return error


def _place_of(request: Request, only: int | None, cursor: int) -> tuple[int, int]:
    """
    Attempt and byte to begin at: behind `Last-Event-ID`, which is ATTEMPT:BYTE, else what the query says.
    """
    text = request.headers.get("last-event-id")
    if text is None:
        return only or 1, cursor
    first, sign, second = text.partition(":")
    whole = all(part.isascii() and part.isdecimal() and len(part) <= 18 for part in (first, second))
    if not sign or not whole or int(first) < 1:
        raise invalid_query("Last-Event-ID", "must be one that an output event has told")
    return int(first), int(second)


async def _counted(desk: Desk, frames: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """
    The frames, as one of those who follow, of whom there may be only so many.
    """
    async with desk.feed.followed():
        async for one in frames:
            yield one


async def _followed(
    desk: Desk, uid: str, stream: str, only: int | None, place: tuple[int, int]
) -> AsyncIterator[bytes]:
    """
    Frames of output, one attempt after the other, until the job is final and all has been sent.

    The end of an attempt's output decides nothing: whether another follows is read from the job. Engines do not tell
    of output, so a quiet one is asked again every `PAUSE_S` seconds, and more rarely the longer it is quiet.
    """
    clock = desk.world.clock
    number_now, offset = place
    trouble: str | None = None
    pause_s = PAUSE_S
    beat = clock.now() + timedelta(seconds=sse.HEARTBEAT_S)
    yield b"retry: 1000\n\n"
    while not desk.feed.ending():
        job = await desk.intake.job(uid)
        later = number_now < len(job.attempts)
        chunk: Chunk | None = None
        error: StandfastError | None = None
        if number_now <= len(job.attempts):
            try:
                chunk = await engine_of(desk, job).read(
                    job.attempts[number_now - 1].handle, stream=stream, offset=offset, limit=PIECE
                )
            except (NotFound, Gone, Unavailable) as refused:
                error = _in_words_of_logs(refused)
        if error is not None and error.code != trouble and not isinstance(error, NotFound):
            yield sse.frame(msgspec.json.encode({"code": error.code, "detail": error.message}), event="trouble")
        trouble = None if error is None else error.code
        data = b""
        if chunk is not None:
            at_end = chunk.ended or (job.phase.final and chunk.next_offset >= chunk.size)
            data = chunk.data if at_end else whole_characters(chunk.data)
        if chunk is not None and data:
            offset, pause_s = chunk.offset + len(data), PAUSE_S
            beat = clock.now() + timedelta(seconds=sse.HEARTBEAT_S)
            yield _framed(data, chunk.offset, number_now, stream)
            continue
        told_all = (chunk.ended if chunk else not isinstance(error, Unavailable)) or job.phase.final
        if told_all and not isinstance(error, Unavailable) and (later or job.phase.final):
            if only is not None or not later:
                yield sse.frame(msgspec.json.encode({"phase": job.phase}), event="end")
                return
            number_now, offset = number_now + 1, 0
            continue
        if clock.now() >= beat:
            yield sse.frame(b"{}", id=f"{number_now}:{offset}", event="bookmark")
            beat = clock.now() + timedelta(seconds=sse.HEARTBEAT_S)
        await desk.feed.rest(pause_s)
        pause_s = min(PAUSE_MAX_S, pause_s * 1.2)


def whole_characters(data: bytes) -> bytes:
    """
    The bytes up to the last whole UTF-8 character, so that a reader by pieces never sees half of one.
    """
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            break
        if byte >= 0xC0:
            # Above 0xF4 no character begins, so there is nothing to wait for.
            wanted = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4 if byte < 0xF5 else 0
            return data[:-back] if back < wanted else data
    return data


def _framed(data: bytes, offset: int, attempt: int, stream: str) -> bytes:
    """
    Text as text; bytes that are no UTF-8 as base64, so that nothing is lost.
    """
    told: dict[str, object] = {"attempt": attempt, "stream": stream, "offset": offset}
    try:
        told["text"] = data.decode()
    except UnicodeDecodeError:
        told["base64"] = base64.b64encode(data).decode()
    return sse.frame(msgspec.json.encode(told), id=f"{attempt}:{offset + len(data)}", event="output")
