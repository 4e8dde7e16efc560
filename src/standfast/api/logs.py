"""
Output of attempts over HTTP: by offset, or followed across attempts until the job is final.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from standfast.api import sse
from standfast.api.auth import Caller
from standfast.api.history import attempt_of
from standfast.api.reading import choice, flag, number
from standfast.api.route import Desk
from standfast.core.errors import Gone, NotFound, StandfastError, Unavailable
from standfast.core.job.state import Job
from standfast.ports.engine import Capability, Chunk, Engine

LIMIT_MAX = 1024 * 1024
PAUSE_S = 0.25
STREAMS = ("stdout", "stderr")


async def read(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    GET /v1/jobs/{uid}/logs.
    """
    job = await desk.intake.job(request.path_params["uid"])
    stream = choice(request, "stream", STREAMS, "stdout")
    named = request.query_params.get("attempt")
    if flag(request, "follow") or request.headers.get("accept", "").startswith("text/event-stream"):
        return sse.stream(_followed(desk, job.uid, stream, int(named) if named and named.isdecimal() else None))
    if not job.attempts:
        raise NotFound(f"{job.uid} has no attempt yet", code="logs_not_found")
    attempt = attempt_of(job, named) if named else job.attempt
    engine = engine_of(desk, job)
    tail = number(request, "tail", default=0, least=0, most=LIMIT_MAX)
    offset = -tail if tail else number(request, "cursor", default=0, least=0)
    limit = number(request, "limit", default=256 * 1024, least=1, most=LIMIT_MAX)
    if job.logs_removed_at is not None:
        raise Gone(f"the output of {job.uid} was removed", code="logs_gone")
    chunk = await engine.read(attempt.handle, stream=stream, offset=offset, limit=limit)
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


async def _followed(desk: Desk, uid: str, stream: str, only: int | None) -> AsyncIterator[bytes]:
    """
    Frames of output, one attempt after the other, until the job is final and all has been sent.

    The end of an attempt's output decides nothing: whether another follows is read from the job.
    """
    number_now, offset = only or 1, 0
    while True:
        job = await desk.intake.job(uid)
        over = job.phase.final or number_now < len(job.attempts)
        chunk: Chunk | None = None
        if number_now <= len(job.attempts):
            handle = job.attempts[number_now - 1].handle
            try:
                engine = engine_of(desk, job)
                chunk = await engine.read(handle, stream=stream, offset=offset, limit=64 * 1024)
            except NotFound:
                chunk = None
            except Gone as error:
                yield _note("gone", error)
                over = True
            except Unavailable as error:
                yield _note("unreachable", error)
                over = False
        data = b"" if chunk is None else chunk.data if chunk.ended else whole_characters(chunk.data)
        if chunk is not None and data:
            offset = chunk.offset + len(data)
            yield _framed(data, chunk.offset, number_now, stream)
            continue
        if over and (chunk is None or chunk.ended or job.phase.final):
            if only is not None or number_now >= len(job.attempts):
                yield sse.frame(msgspec.json.encode({"phase": job.phase}), event="end")
                return
            number_now, offset = number_now + 1, 0
            continue
        await desk.world.clock.sleep(PAUSE_S)


def whole_characters(data: bytes) -> bytes:
    """
    The bytes up to the last whole UTF-8 character, so that a reader by pieces never sees half of one.
    """
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            break
        if byte >= 0xC0:
            wanted = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
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


def _note(what: str, error: StandfastError) -> bytes:
    return sse.frame(msgspec.json.encode({"code": error.code, "detail": error.message}), event=what)
