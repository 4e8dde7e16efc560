"""
Sending an answer: documents as JSON, tags of revisions, the long poll.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from standfast.api.headers import header
from standfast.api.problems import invalid_query
from standfast.api.reading import choice, number, seconds
from standfast.api.route import Desk
from standfast.api.whole import WHOLE
from standfast.core.errors import Conflict
from standfast.core.job.state import Job
from standfast.wire import public

_encoder = msgspec.json.Encoder()
_JSON = (b"content-type", b"application/json")

HOLD_MAX_S = 60.0
"""Longest that a request is held back waiting for news."""


Headers = tuple[tuple[bytes, bytes], ...]
"""Names in lower case, with their values."""


def document(value: Any, status: int = 200, headers: Headers = ()) -> Response:
    """
    `value` as JSON.
    """
    return Sent(_encoder.encode(value), status, headers)


class Sent(Response):
    """
    A JSON answer that is ready as it goes over the wire: Starlette's own way costs as much as encoding the body.
    """

    background = None

    def __init__(self, body: bytes, status: int, headers: Headers) -> None:
        self.body = body
        self.status_code = status
        self.raw_headers = [_JSON, (b"content-length", b"%d" % len(body)), *headers]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """
        Send it, in one piece to a server that takes one (see `head`).
        """
        start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        if WHOLE in scope.get("extensions", ()):
            start["body"] = self.body
            await send(start)
            return
        await send(start)
        await send({"type": "http.response.body", "body": self.body})


async def job_document(desk: Desk, job: Job, status: int = 200) -> Response:
    """
    The job with its tag, and what it waits for.
    """
    return document(public.to_job(job, await desk.waiting(job)), status, ((b"etag", b'"%d"' % job.revision),))


def demand_revision(request: Request, job: Job) -> None:
    """
    Check `If-Match`, if given, against the job's revision.

    Raises:
        Conflict: The job has another revision.
    """
    wanted = header(request, b"if-match")
    if wanted is not None and wanted.strip() != "*":
        tags = {tag.strip().removeprefix("W/").strip('"') for tag in wanted.split(",")}
        if str(job.revision) not in tags:
            raise Conflict(f"{job.uid} has revision {job.revision}, not {', '.join(sorted(tags))}")


async def held_back(desk: Desk, request: Request, job: Job) -> Job:
    """
    The job once what `wait` asks for holds, or as it is when `timeout` has passed.
    """
    wait = choice(request, "wait", ("", "change", "done"), "")
    if not wait:
        return job
    since = number(request, "revision", default=job.revision, least=0)
    if wait == "change" and "revision" not in request.query_params:
        raise invalid_query("revision", "is needed with wait=change")
    clock, feed = desk.world.clock, desk.feed
    until = clock.now() + timedelta(seconds=seconds(request, "timeout", default=30.0, most=HOLD_MAX_S))
    if job.phase.final or (wait == "change" and job.revision != since):
        return job
    async with feed.followed() as after:
        while True:
            job = await desk.intake.job(job.uid)
            moved = job.phase.final or (wait == "change" and job.revision != since)
            if moved or feed.ending() or clock.now() >= until:
                return job
            # What was committed since the job was read has a number above `after`.
            concerned = False
            while not concerned and not feed.ending() and clock.now() < until:
                await feed.news(after, until=until)
                told, after = await feed.read(after, uid=job.uid)
                concerned = bool(told)
