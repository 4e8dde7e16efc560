"""
What happened to a job over HTTP: attempts, evidence, events, the explanation.
"""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from standfast.api import sse
from standfast.api.auth import Caller
from standfast.api.reading import flag, number
from standfast.api.route import Desk
from standfast.api.sending import document
from standfast.core.errors import NotFound
from standfast.core.job.attempt import Attempt
from standfast.core.job.state import Job
from standfast.wire import public

EVENTS_MAX = 1000


async def attempts(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    GET /v1/jobs/{uid}/attempts.
    """
    job = await desk.intake.job(request.path_params["uid"])
    return document(public.Attempts(items=[public.to_attempt(job, attempt) for attempt in job.attempts]))


async def attempt(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    GET /v1/jobs/{uid}/attempts/{number}.
    """
    job = await desk.intake.job(request.path_params["uid"])
    return document(public.to_attempt(job, attempt_of(job, request.path_params["number"])))


async def evidence(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    GET /v1/jobs/{uid}/evidence.
    """
    job = await desk.intake.job(request.path_params["uid"])
    items = [
        public.to_evidence(attempt.number, one) for attempt in job.attempts for one in public.evidence_of(job, attempt)
    ]
    return document(public.EvidenceList(items=items))


async def blob(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    GET /v1/blobs/{digest}.
    """
    name = request.path_params["digest"]
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", name):
        raise NotFound(f"there is no evidence named {name}")
    data = await desk.world.blobs.get(name)
    return Response(data, 200, {"X-Content-Type-Options": "nosniff"}, "text/plain; charset=utf-8")


async def explain(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    GET /v1/jobs/{uid}/explain.
    """
    job = await desk.intake.job(request.path_params["uid"])
    told = public.to_explanation(job, await desk.waiting(job))
    if "text/plain" in request.headers.get("accept", ""):
        return PlainTextResponse(public.to_text(told))
    return document(told)


async def job_events(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    GET /v1/jobs/{uid}/events.
    """
    job = await desk.intake.job(request.path_params["uid"])
    after = sse.cursor_of(request) or 0
    if sse.wanted(request, flag(request, "follow")):
        return await sse.stream(sse.events(desk, after=after, uid=job.uid))
    return await _page(desk, request, after, uid=job.uid)


async def all_events(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    GET /v1/events.
    """
    after, namespace = sse.cursor_of(request), request.query_params.get("namespace")
    if sse.wanted(request, flag(request, "follow")):
        return await sse.stream(sse.events(desk, after=after, namespace=namespace))
    return await _page(desk, request, after or 0, namespace=namespace)


def attempt_of(job: Job, number_text: str) -> Attempt:
    """
    The attempt of that number.

    Raises:
        NotFound: The job has none.
    """
    found = next((attempt for attempt in job.attempts if str(attempt.number) == number_text), None)
    if found is None:
        raise NotFound(f"{job.uid} has no attempt {number_text}", code="attempt_not_found")
    return found


async def _page(
    desk: Desk, request: Request, after: int, *, uid: str | None = None, namespace: str | None = None
) -> Response:
    limit = number(request, "limit", default=500, least=1, most=EVENTS_MAX)
    if after:
        sse.known(after, await desk.world.catalogue.newest_seq())
    found = await desk.world.catalogue.events(after=after, uid=uid, namespace=namespace, limit=limit)
    cursor = str(found[-1].seq if found else after)
    return document(public.EventPage(items=[public.to_event(stored) for stored in found], next_cursor=cursor))
