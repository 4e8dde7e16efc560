"""
Event streams: server-sent events that resume where they broke, and never outgrow memory.

Belongs here: framing, heartbeats, resuming. Not here: where events come from (`feed`). A slow reader holds back only
itself: its next batch is read when the last one has been taken. Source: WHATWG HTML, "Server-sent events".
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import msgspec
from starlette.requests import Request
from starlette.responses import StreamingResponse

from standfast.api.feed import BATCH
from standfast.api.problems import invalid_query
from standfast.api.route import Desk
from standfast.core.errors import Gone, NotFound, StandfastError
from standfast.ports.store import StoredEvent
from standfast.wire import public

HEARTBEAT_S = 15.0
"""Longest silence on a stream."""

_encoder = msgspec.json.Encoder()


def cursor_of(request: Request) -> int | None:
    """
    Where to go on: `Last-Event-ID`, else `cursor` or `after`; None if the caller named no place.

    Raises:
        InvalidSpec: It is not a number that we gave.
    """
    for name, text in (
        ("Last-Event-ID", request.headers.get("last-event-id")),
        ("cursor", request.query_params.get("cursor")),
        ("after", request.query_params.get("after")),
    ):
        if text is not None:
            if not text.isascii() or not text.isdecimal() or len(text) > 18:
                raise invalid_query(name, "must be a number that an event or a page has told")
            return int(text)
    return None


def wanted(request: Request, follow: bool) -> bool:
    """
    Whether the caller asks for a stream: by `follow`, or by what it accepts.
    """
    streams = follow or "text/event-stream" in request.headers.get("accept", "")
    return streams and request.method == "GET"


async def stream(frames: AsyncIterator[bytes]) -> StreamingResponse:
    """
    The answer that sends these frames until they end or the reader goes.

    Raises:
        StandfastError: The first frame cannot be had; said as an ordinary answer, not as a broken stream.
    """
    first = await anext(frames, b"")

    async def all_of_them() -> AsyncIterator[bytes]:
        yield first
        try:
            async for one in frames:
                yield one
        except StandfastError as error:
            # The answer has begun: its end tells the reader to come back with its cursor.
            yield f": {error.code}\n\n".encode()

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(all_of_them(), 200, headers, "text/event-stream")


def frame(data: bytes, *, id: str | None = None, event: str | None = None) -> bytes:
    """
    One server-sent event; `data` holds no line break.
    """
    head = (f"event: {event}\n" if event else "") + (f"id: {id}\n" if id else "")
    return head.encode() + b"data: " + data + b"\n\n"


def event_frame(stored: StoredEvent) -> bytes:
    """
    The frame of one event; its number is the cursor to resume after.
    """
    return b"id: %d\ndata: %b\n\n" % (stored.seq, _encoder.encode(public.to_event(stored)))


async def events(
    desk: Desk, *, after: int | None, uid: str | None = None, namespace: str | None = None
) -> AsyncIterator[bytes]:
    """
    Every event numbered above `after`, as it is committed, in order, without gap or double; None: from now on.

    A bookmark tells quiet readers how far they are. The stream of one job ends when the job is final and all has been
    told; every stream ends before the process does.

    Raises:
        Gone: This store never gave that cursor, so that what lies between cannot be told: list again. Throttled,
        Unavailable: As they say.
    """
    clock, feed = desk.world.clock, desk.feed
    async with feed.followed() as newest:
        after = newest if after is None else known(after, newest)
        yield b"retry: 1000\n\n"
        beat = clock.now() + timedelta(seconds=HEARTBEAT_S)
        if uid is None:
            yield frame(b"{}", id=str(after), event="bookmark")
        else:
            async for told, reached in _rest_of(desk, uid, after):
                after = reached
                yield told
            if await _final(desk, uid):
                async for told, _ in _rest_of(desk, uid, after):
                    yield told
                return
        while not feed.ending():
            batch, after = await feed.read(after, uid=uid, namespace=namespace)
            if batch:
                yield b"".join(told.bytes for told in batch)
                beat = clock.now() + timedelta(seconds=HEARTBEAT_S)
                if uid is not None and await _final(desk, uid):
                    async for told, _ in _rest_of(desk, uid, after):
                        yield told
                    return
            elif clock.now() >= beat:
                yield frame(b"{}", id=str(after), event="bookmark")
                beat = clock.now() + timedelta(seconds=HEARTBEAT_S)
            await feed.news(after, until=beat)


def known(cursor: int, newest: int) -> int:
    """
    The cursor, if this store can have given it.

    Raises:
        Gone: It is ahead of every event, so it comes from another store, or from one that was put back.
    """
    if cursor > newest:
        raise Gone(
            f"cursor {cursor} is ahead of the newest event {newest}",
            code="cursor_expired",
            hint="The store is another one than before: list again, and follow from the new cursor.",
        )
    return cursor


async def _final(desk: Desk, uid: str) -> bool:
    try:
        return (await desk.intake.job(uid)).phase.final
    except NotFound:
        return True


async def _rest_of(desk: Desk, uid: str, after: int) -> AsyncIterator[tuple[bytes, int]]:
    """
    Frames of everything the store has of the job behind `after`, each with the cursor behind it.
    """
    while batch := await desk.world.catalogue.events(after=after, uid=uid, limit=BATCH):
        after = batch[-1].seq
        yield b"".join(event_frame(stored) for stored in batch), after
