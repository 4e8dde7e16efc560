"""
Sending an answer: documents as JSON, tags of revisions, the long poll.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from standfast.api.problems import invalid_query
from standfast.api.reading import choice, number, seconds
from standfast.api.route import Desk
from standfast.core.errors import Conflict
from standfast.core.job.state import Job
from standfast.runtime.world import EVENTS
from standfast.wire import public

_encoder = msgspec.json.Encoder()

HOLD_MAX_S = 60.0
"""Longest that a request is held back waiting for news."""


def document(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """
    `value` as JSON.
    """
    return Response(_encoder.encode(value), status, headers, "application/json")


async def job_document(desk: Desk, job: Job, status: int = 200, **headers: str) -> Response:
    """
    The job with its tag.
    """
    answer = public.to_job(job, await desk.waiting(job))
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return document(answer, status, {"ETag": f'"{job.revision}"', **named})


def demand_revision(request: Request, job: Job) -> None:
    """
    Check `If-Match`, if given, against the job's revision.

    Raises:
        Conflict: The job has another revision.
    """
    wanted = request.headers.get("if-match")
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
    world = desk.world
    until = world.clock.now() + timedelta(seconds=seconds(request, "timeout", default=30.0, most=HOLD_MAX_S))
    while True:
        seen = world.wakeups.seen(EVENTS)
        job = await desk.intake.job(job.uid)
        if job.phase.final or (wait == "change" and job.revision != since) or world.clock.now() >= until:
            return job
        await world.wakeups.wait(EVENTS, seen=seen, until=until)
