"""
Errors as problem documents: the closed catalogue of codes, and the one mapping from our errors to answers.

Source: RFC 9457. A code is never renamed and never re-used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response

from standfast.core.errors import (
    Conflict,
    FieldError,
    Forbidden,
    Gone,
    InvalidSpec,
    KeyReused,
    NotFound,
    Rejected,
    StandfastError,
    Unavailable,
)

BASE = "https://standfast.invalid/problems/"
"""Prefix of `type`; the same text is served under `/v1/problems/CODE`."""


class ProblemKind(msgspec.Struct, frozen=True, kw_only=True):
    """
    One row of the catalogue. retry: `never`, `same_request`, `later`, `after_fix`.
    """

    code: str
    status: int
    title: str
    retry: str
    hint: str


class ProblemKinds(msgspec.Struct, frozen=True, kw_only=True):
    """
    The whole catalogue.
    """

    items: list[ProblemKind]


_ROWS = (
    ("invalid_json", 400, "The body is not what its content type says", "after_fix", "Send JSON or YAML in UTF-8."),
    ("invalid_query", 400, "A query parameter is wrong or unknown", "after_fix", "See the route's parameters."),
    ("page_token_mismatch", 400, "The page token belongs to another filter", "after_fix", "Start again without it."),
    ("unauthenticated", 401, "Who are you?", "after_fix", "Send `Authorization: Bearer TOKEN`."),
    (
        "forbidden",
        403,
        "Your token does not allow this",
        "never",
        "Ask for a token with the role that the route needs.",
    ),
    ("not_found", 404, "There is no such thing", "never", "Check the path."),
    (
        "job_not_found",
        404,
        "There is no such job",
        "never",
        "It may have been deleted, or be in another control plane.",
    ),
    ("attempt_not_found", 404, "The job has no such attempt", "never", "See the job's attempts."),
    ("logs_not_found", 404, "There is no such output yet", "later", "It appears when the attempt starts."),
    ("blob_not_found", 404, "There are no such bytes", "never", "They go with their job's record."),
    ("method_not_allowed", 405, "The path knows no such method", "after_fix", "See the Allow header."),
    ("request_timeout", 408, "The body did not come in time", "same_request", "Send it again, faster."),
    ("not_in_this_phase", 409, "The job's phase does not allow it", "later", "See `moves` of the job."),
    ("already_final", 409, "The job is finished for good", "never", "`retry` makes a new job."),
    ("gone", 410, "It is gone for good", "never", "Nothing brings it back."),
    ("cursor_expired", 410, "The cursor is none of this store", "after_fix", "List again, and follow from there."),
    ("logs_gone", 410, "The output was removed", "never", "Raise `ttl.logs_s` to keep it longer."),
    ("revision_changed", 412, "The job has changed since you looked", "after_fix", "Read it again."),
    ("body_too_large", 413, "The body is too large", "never", "Put large inputs where the job can read them."),
    (
        "unsupported_media_type",
        415,
        "No such content type here",
        "after_fix",
        "Send application/json or application/yaml.",
    ),
    ("invalid_spec", 422, "One or more fields are wrong", "after_fix", "`errors` names each with its path."),
    (
        "idempotency_key_reused",
        422,
        "The request id made another job",
        "after_fix",
        "Send the first body, or a new id.",
    ),
    ("throttled", 429, "Too many requests", "later", "Wait as long as Retry-After says."),
    ("internal", 500, "A fault of ours", "same_request", "Sending it again is safe; tell us the request id."),
    ("unavailable", 503, "Somebody we need did not answer", "same_request", "Nothing is known; send the same again."),
    (
        "store_unavailable",
        503,
        "The store does not answer",
        "same_request",
        "Not known whether it was stored; send again.",
    ),
    ("store_closed", 503, "The control plane is stopping", "same_request", "Send it again once it is back."),
    ("store_full", 503, "The disk is full", "same_request", "Nothing was stored; make room, then send the same again."),
    ("store_busy", 503, "The job changes too fast just now", "same_request", "Send the same again."),
    ("store_held", 503, "Another process holds the store", "later", "Stop it, or use its address."),
    ("store_corrupt", 503, "The store's file is damaged", "never", "See operating/backup; nothing was overwritten."),
    ("store_too_new", 503, "The store was written by a newer version", "never", "Run that version or a newer one."),
    ("blob_not_kept", 503, "The bytes could not be kept", "later", "See the disk of the state folder."),
    ("blob_unreadable", 503, "The bytes could not be read", "later", "See the disk of the state folder."),
    ("blob_corrupt", 503, "The bytes have changed on disk", "never", "They prove nothing any more; see the disk."),
    (
        "engine_unreachable",
        503,
        "The engine does not answer",
        "same_request",
        "The job's state is not known meanwhile.",
    ),
)

CATALOGUE: Mapping[str, ProblemKind] = {
    code: ProblemKind(code=code, status=status, title=title, retry=retry, hint=hint)
    for code, status, title, retry, hint in _ROWS
}

_FALLBACK: tuple[tuple[type[StandfastError], str], ...] = (
    (KeyReused, "idempotency_key_reused"),
    (InvalidSpec, "invalid_spec"),
    (Rejected, "not_in_this_phase"),
    (NotFound, "not_found"),
    (Gone, "gone"),
    (Conflict, "revision_changed"),
    (Forbidden, "forbidden"),
    (Unavailable, "unavailable"),
)

_encoder = msgspec.json.Encoder()


class Throttled(Unavailable):
    """
    The caller asks more often than it may.
    """

    code = "throttled"


def to_document(
    error: StandfastError, *, instance: str | None = None, request_id: str | None = None
) -> tuple[ProblemKind, dict[str, Any]]:
    """
    The catalogue's row and the problem document of an error.
    """
    row = CATALOGUE.get(error.code)
    if row is None:
        row = CATALOGUE[next((code for kind, code in _FALLBACK if isinstance(error, kind)), "internal")]
    document: dict[str, Any] = {
        "type": BASE + row.code,
        "title": row.title,
        "status": row.status,
        "code": row.code,
        "detail": error.message,
        "hint": error.hint or row.hint,
        "retry": row.retry,
    }
    if instance is not None:
        document["instance"] = instance
    if request_id is not None:
        document["request_id"] = request_id
    if isinstance(error, InvalidSpec):
        document["errors"] = [msgspec.to_builtins(field) for field in error.errors]
    if isinstance(error, KeyReused):
        document["holder"] = {"kind": "job", "uid": error.uid}
        document["stored_digest"] = error.stored_digest
        document["given_digest"] = error.given_digest
    return row, document


def to_response(error: StandfastError, *, instance: str | None = None, request_id: str | None = None) -> Response:
    """
    The answer that an error becomes.
    """
    row, document = to_document(error, instance=instance, request_id=request_id)
    headers = {}
    if isinstance(error, Unavailable):
        headers["Retry-After"] = str(max(1, round(error.retry_after_s)))
    if row.status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="standfast"'
    return Response(_encoder.encode(document), row.status, headers, "application/problem+json")


def invalid_query(name: str, message: str) -> InvalidSpec:
    """
    The error of one query parameter or header.
    """
    error = InvalidSpec([FieldError(f"?{name}", "invalid_query", message)])
    error.code = "invalid_query"
    return error
