"""
Jobs over HTTP: submit, list, read, delete.
"""

from __future__ import annotations

import base64
import binascii
import hashlib

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from standfast.api.auth import Caller
from standfast.api.headers import header
from standfast.api.problems import invalid_query, to_document
from standfast.api.reading import decoded, flag, labels, moment, number, phases, read_body, words
from standfast.api.route import Desk
from standfast.api.sending import demand_revision, document, held_back, job_document
from standfast.core.errors import FieldError, InvalidSpec, StandfastError
from standfast.ports.store import Query
from standfast.runtime.intake import Accepted, Submission
from standfast.wire import public

PAGE_MAX = 1000
BATCH_MAX = 1000


class _RawBatch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """
    `public.BatchBody` with each job still unread, so that a wrong one is refused by itself.
    """

    jobs: list[msgspec.Raw]


class PageTokenMismatch(InvalidSpec):
    """
    The page token was made for another filter.
    """

    code = "page_token_mismatch"


async def submit(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    POST /v1/jobs.
    """
    body = await read_body(request, public.SubmitBody, bytes_max=desk.body_bytes_max)
    submission = to_submission(body, request_id_of(request, body.request_id))
    if flag(request, "dry_run"):
        return await _planned(desk, submission, caller)
    return accepted(await desk.intake.submit(submission, by=caller.name))


async def plan(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    POST /v1/plans.
    """
    body = await read_body(request, public.SubmitBody, bytes_max=desk.body_bytes_max)
    return await _planned(desk, to_submission(body, body.request_id), caller)


async def submit_batch(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    POST /v1/jobs/batch.
    """
    body = await read_body(request, _RawBatch, bytes_max=desk.body_bytes_max)
    if len(body.jobs) > BATCH_MAX:
        raise InvalidSpec([FieldError("/jobs", "out_of_range", f"at most {BATCH_MAX} jobs at once")])
    items: list[public.BatchItem | None] = [None] * len(body.jobs)
    sound: list[int] = []
    submissions: list[Submission] = []
    for index, raw in enumerate(body.jobs):
        try:
            one = decoded(raw, public.SubmitBody)
        except StandfastError as error:
            items[index] = _item(error)
        else:
            sound.append(index)
            submissions.append(to_submission(one, one.request_id))
    answers = await desk.intake.submit_many(submissions, by=caller.name) if submissions else []
    for index, answer in zip(sound, answers, strict=True):
        items[index] = _item(answer)
    return document(public.BatchAnswer(items=[item for item in items if item is not None]))


async def page(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    GET /v1/jobs.
    """
    query = _query(request)
    size = number(request, "page_size", default=100, least=0) or 100
    after = _after(request.query_params.get("page_token"), query)
    found = await desk.world.catalogue.page(query, size=min(size, PAGE_MAX), after=after)
    answer = public.JobPage(
        items=[public.to_job(job) for job in found.jobs],
        next_page_token=None if found.next_after is None else _token(found.next_after, query),
        watch_cursor=str(found.seq),
    )
    fields = words(request, "fields")
    return document(answer if not fields else _only(answer, fields))


async def read(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    GET /v1/jobs/{uid}.
    """
    job = await desk.intake.job(request.path_params["uid"])
    return await job_document(desk, await held_back(desk, request, job))


async def delete(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    DELETE /v1/jobs/{uid}.
    """
    job = await desk.intake.job(request.path_params["uid"])
    demand_revision(request, job)
    await desk.intake.delete(job.uid)
    return Response(status_code=204)


def accepted(answer: Accepted) -> Response:
    """
    201 for a new job; 200 and `Idempotent-Replayed` for one that this request id had made.
    """
    job = answer.job
    headers = ((b"etag", b'"%d"' % job.revision), (b"location", b"/v1/jobs/" + job.uid.encode()))
    if answer.replayed:
        return document(public.to_job(job), 200, (*headers, (b"idempotent-replayed", b"true")))
    # Its place in the queue is not counted here: it would cost more than accepting it did.
    return document(public.to_job(job), 201, headers)


def to_submission(body: public.SubmitBody, request_id: str | None) -> Submission:
    """
    The body as the intake takes it.
    """
    return Submission(
        spec=body.spec, name=body.name, namespace=body.namespace, labels=body.labels, request_id=request_id
    )


def key_of(request: Request) -> str | None:
    """
    The `Idempotency-Key`, quoted as in the IETF draft or bare.

    Raises:
        InvalidSpec: It is empty or not printable.
    """
    text = header(request, b"idempotency-key")
    if text is None:
        return None
    text = text.strip()
    if len(text) >= 2 and text.startswith('"') and text.endswith('"'):
        text = text[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    if not 1 <= len(text) <= 255 or not text.isprintable():
        raise InvalidSpec([FieldError("Idempotency-Key", "malformed", "must be 1..255 printable characters")])
    return text


def request_id_of(request: Request, in_body: str | None) -> str | None:
    """
    The request id from header or body.

    Raises:
        InvalidSpec: They say different things.
    """
    in_header = key_of(request)
    if in_header is not None and in_body is not None and in_header != in_body:
        message = f"says {in_body!r}, the Idempotency-Key header {in_header!r}"
        raise InvalidSpec([FieldError("/request_id", "contradiction", message)])
    return in_header or in_body


async def _planned(desk: Desk, submission: Submission, caller: Caller) -> Response:
    planned = desk.intake.plan(submission, by=caller.name)
    return document(
        public.PlanAnswer(job=public.to_job(planned.job), handle=planned.handle, engine_call=planned.engine_call)
    )


def _item(answer: Accepted | StandfastError) -> public.BatchItem:
    if isinstance(answer, Accepted):
        status = 200 if answer.replayed else 201
        return public.BatchItem(
            status=status, uid=answer.job.uid, revision=answer.job.revision, replayed=answer.replayed
        )
    row, problem = to_document(answer)
    return public.BatchItem(status=row.status, problem=problem)


def _query(request: Request) -> Query:
    wanted, unwanted = phases(request)
    given = request.query_params
    return Query(
        namespace=given.get("namespace"),
        phases=wanted,
        not_phases=unwanted,
        engines=words(request, "engine"),
        queue=given.get("queue"),
        labels=labels(request),
        name=given.get("name"),
        name_prefix=given.get("name_prefix"),
        created_after=moment(request, "created_after"),
        created_before=moment(request, "created_before"),
        retry_of=given.get("retry_of"),
    )


def _bound(query: Query) -> str:
    return hashlib.sha256(msgspec.json.encode(query, order="deterministic")).hexdigest()[:16]


def _token(after: int, query: Query) -> str:
    """
    An opaque token for the page behind `after`, good for this filter only.
    """
    return base64.urlsafe_b64encode(f"2.{_bound(query)}.{after}".encode()).decode().rstrip("=")


def _after(token: str | None, query: Query) -> int | None:
    if not token:
        return None
    try:
        text = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
    except (binascii.Error, ValueError):
        raise invalid_query("page_token", "is not one that we gave") from None
    version, _, rest = text.partition(".")
    bound, _, after = rest.partition(".")
    if version != "2" or not (after.isascii() and after.isdigit() and len(after) < 19):
        raise invalid_query("page_token", "is not one that we gave")
    if bound != _bound(query):
        error = PageTokenMismatch([])
        error.message = "the page token belongs to another filter"
        raise error
    return int(after)


def _only(page: public.JobPage, fields: tuple[str, ...]) -> public.PartialJobPage:
    """
    The page with the wanted fields of each job; `a.b` reaches into a field.
    """
    known = public.JobAnswer.__struct_fields__
    for path in fields:
        if path.partition(".")[0] not in known:
            raise invalid_query("fields", f"no field {path!r}; there are {', '.join(known)}")
    items = [{path: _reach(item, path) for path in fields} for item in msgspec.to_builtins(page.items)]
    return public.PartialJobPage(items=items, next_page_token=page.next_page_token, watch_cursor=page.watch_cursor)


def _reach(item: object, path: str) -> object:
    for part in path.split("."):
        item = item.get(part) if isinstance(item, dict) else None
    return item
