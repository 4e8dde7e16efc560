"""
Commands on a job over HTTP: cancel, suspend, resume, resolve, retry.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from standfast.api.auth import Caller
from standfast.api.jobs import accepted, request_id_of
from standfast.api.reading import read_body
from standfast.api.route import Desk
from standfast.api.sending import demand_revision, job_document
from standfast.core.job.inputs import Cancel, Resolve, Resume, Suspend
from standfast.wire import public

_NO_REASON = public.ReasonBody()


async def cancel(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    POST /v1/jobs/{uid}/cancel.
    """
    body = await read_body(request, public.ReasonBody, bytes_max=desk.body_bytes_max, empty=_NO_REASON)
    return await _command(desk, request, Cancel(by=caller.name, reason=body.reason))


async def suspend(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    POST /v1/jobs/{uid}/suspend.
    """
    body = await read_body(request, public.ReasonBody, bytes_max=desk.body_bytes_max, empty=_NO_REASON)
    return await _command(desk, request, Suspend(by=caller.name, reason=body.reason))


async def resume(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    POST /v1/jobs/{uid}/resume.
    """
    await read_body(request, public.ReasonBody, bytes_max=desk.body_bytes_max, empty=_NO_REASON)
    return await _command(desk, request, Resume(by=caller.name))


async def resolve(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    POST /v1/jobs/{uid}/resolve.
    """
    body = await read_body(request, public.ResolveBody, bytes_max=desk.body_bytes_max)
    word = Resolve(by=caller.name, answer=body.answer, because=body.because, outcome=body.outcome)
    return await _command(desk, request, word)


async def retry(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    POST /v1/jobs/{uid}/retry.
    """
    body = await read_body(request, public.RetryBody, bytes_max=desk.body_bytes_max, empty=public.RetryBody())
    request_id = request_id_of(request, body.request_id)
    uid = request.path_params["uid"]
    return accepted(await desk.intake.retry(uid, request_id=request_id, changes=body.set, by=caller.name))


async def _command(desk: Desk, request: Request, command: Cancel | Suspend | Resume | Resolve) -> Response:
    """
    202: what the command caused is durable; that it is done outside is told by the job's phase.
    """
    uid = request.path_params["uid"]
    demand_revision(request, await desk.intake.job(uid))
    return await job_document(desk, await desk.intake.command(uid, command), 202)
