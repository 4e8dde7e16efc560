"""
Event streams: server-sent events that resume where they broke, and never outgrow memory.

Belongs here: framing, heartbeats, resuming. A slow reader holds back only itself: the next batch is read from the store
when the last one has been taken. Source: WHATWG HTML, "Server-sent events".
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import msgspec
from starlette.requests import Request
from starlette.responses import StreamingResponse

from standfast.api.problems import invalid_query
from standfast.api.route import Desk
from standfast.runtime.world import EVENTS
from standfast.wire import public

HEARTBEAT_S = 15.0
BATCH = 500

_encoder = msgspec.json.Encoder()


def cursor_of(request: Request) -> int | None:
    """
    Where to go on: `Last-Event-ID`, else `cursor` or `after`; None if the caller named no place.

    Raises:
        InvalidSpec: It is not a number that we gave.
    """
    text = request.headers.get("last-event-id")
    for name in ("cursor", "after"):
        if text is None:
            text = request.query_params.get(name)
    if text is None:
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise invalid_query("cursor", "must be a number that an event or a page has told")
    return int(text)


def stream(frames: AsyncIterator[bytes]) -> StreamingResponse:
    """
    The answer that sends these frames until they end or the reader goes.
    """
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(frames, 200, headers, "text/event-stream")


def frame(data: bytes, *, id: str | None = None, event: str | None = None) -> bytes:
    """
    One server-sent event; `data` holds no line break.
    """
    head = (f"event: {event}\n" if event else "") + (f"id: {id}\n" if id else "")
    return head.encode() + b"data: " + data + b"\n\n"


async def events(
    desk: Desk, *, after: int, uid: str | None = None, namespace: str | None = None, follow_final: bool = True
) -> AsyncIterator[bytes]:
    """
    Every event numbered above `after`, as it is committed, in order, without gap or double.

    A bookmark tells quiet readers how far they are. With `follow_final` False the stream of one job ends with it.
    """
    world = desk.world
    yield b"retry: 1000\n\n"
    while True:
        seen = world.wakeups.seen(EVENTS)
        newest = await world.catalogue.newest_seq()
        batch = await world.catalogue.events(after=after, uid=uid, namespace=namespace, limit=BATCH)
        for stored in batch:
            after = stored.seq
            yield frame(_encoder.encode(public.to_event(stored)), id=str(stored.seq))
        if batch:
            continue
        if uid is not None and not follow_final:
            found = await world.store.load([uid])
            if not found or found[0].phase.final:
                return
        beat = world.clock.now() + timedelta(seconds=HEARTBEAT_S)
        await world.wakeups.wait(EVENTS, seen=seen, until=beat)
        if world.clock.now() >= beat:
            after = max(after, newest)
            yield frame(b"{}", id=str(after), event="bookmark")
