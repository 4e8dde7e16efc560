"""
Every question and command of the REST interface as a value: what is sent, and how the answer is read. Pure.

Belongs here: paths, queries, bodies, readers; sync and async share them, so that they cannot differ. Not here: HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import msgspec

from standfast.client import answers
from standfast.client.spec import Spec

T = TypeVar("T")

CHUNK_BYTES = 1024 * 1024
"""Most output in one answer."""

Query = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Answer:
    """
    What came back. sent_before: an earlier try of the same call had left and was never answered.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    sent_before: bool = False


@dataclass(frozen=True)
class Call(Generic[T]):
    """
    One request. change: it changes something, so it is repeated for longer. patient: so is it, because its caller waits
    anyway, but no longer than `patience_s` if that is given. waits_s: how long it asks the server to hold the answer
    back. done_if: refusals that mean an earlier, unanswered try of it had worked.
    """

    method: str
    path: str
    read: Callable[[Answer], T]
    query: Query = ()
    body: bytes | None = None
    headers: Query = ()
    request_id: str | None = None
    change: bool = False
    patient: bool = False
    patience_s: float | None = None
    waits_s: float = 0.0
    done_if: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Made:
    """
    An accepted job. replayed: it had been accepted before.
    """

    job: answers.Job
    replayed: bool


def reader(kind: type[T]) -> Callable[[Answer], T]:
    """
    Reads an answer's body as `kind`.
    """
    decoder = msgspec.json.Decoder(kind)
    return lambda answer: decoder.decode(answer.body)


_job = reader(answers.Job)
_attempts = reader(answers.AttemptList)
_evidence = reader(answers.EvidenceList)


@dataclass(frozen=True)
class LogChunk:
    """
    A piece of output from byte `offset` on. next_cursor: where to read on. ended: no more will come.
    """

    data: bytes
    offset: int
    next_cursor: str | None
    ended: bool


def uid_of(job: Any) -> str:
    """
    The uid of a view, or the uid itself.
    """
    return job if isinstance(job, str) else str(job.uid)


def quoted(key: str) -> str:
    """
    The request id as the value of `Idempotency-Key`.

    Source: draft-ietf-httpapi-idempotency-key-header, section 2.1, a quoted string.

    Raises:
        ValueError: It is not 1..255 printable ASCII characters.
    """
    if not (1 <= len(key) <= 255 and key.isascii() and key.isprintable()):
        raise ValueError(f"a key is 1..255 printable ASCII characters, not {key!r}")
    escaped = key.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def list_jobs(
    *,
    namespace: str | None,
    phase: Sequence[str] = (),
    engine: Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
    name: str | None = None,
    name_prefix: str | None = None,
    queue: str | None = None,
    created_after: datetime | None = None,
    page_size: int | None = None,
    page_token: str | None = None,
) -> Call[answers.JobPage]:
    """
    One page of jobs, newest first.
    """
    query = [
        ("namespace", namespace or None),
        ("phase", ",".join(phase) or None),
        ("engine", ",".join(engine) or None),
        ("name", name),
        ("name_prefix", name_prefix),
        ("queue", queue),
        ("created_after", created_after.isoformat() if created_after else None),
        ("page_size", str(page_size) if page_size else None),
        ("page_token", page_token),
        *(("label", f"{key}={value}") for key, value in (labels or {}).items()),
    ]
    return Call("GET", "/v1/jobs", reader(answers.JobPage), query=_given(query))


def submit(spec: Spec, *, namespace: str, key: str) -> Call[Made]:
    """
    The work, under its request id; the body is fixed here, so that every try sends the same bytes.
    """
    return Call("POST", "/v1/jobs", _made, body=body_of(spec, namespace), request_id=key, change=True)


def plan(spec: Spec, *, namespace: str) -> Call[answers.Plan]:
    """
    All checks of a submission, and what it would send.
    """
    return Call(
        "POST",
        "/v1/jobs",
        reader(answers.Plan),
        query=(("dry_run", "true"),),
        body=body_of(spec, namespace),
        request_id=spec.key,
    )


def get_job(uid: str) -> Call[answers.Job]:
    """
    The job as it is.
    """
    return Call("GET", _path(uid), _job)


def wait_change(uid: str, *, revision: int, timeout_s: float, patience_s: float | None = None) -> Call[answers.Job]:
    """
    The job once its revision differs from `revision`, or as it is after `timeout_s` seconds.

    patience_s: how long the caller will wait in all, so that a control plane that is gone does not keep it longer.
    """
    query = (("wait", "change"), ("revision", str(revision)), ("timeout", f"{timeout_s:.3f}"))
    return Call("GET", _path(uid), _job, query=query, waits_s=timeout_s, patient=True, patience_s=patience_s)


def command(uid: str, verb: str, body: Mapping[str, Any], *, key: str) -> Call[answers.Job]:
    """
    cancel, suspend, resume or resolve.
    """
    given = {name: value for name, value in body.items() if value is not None}
    return Call("POST", f"{_path(uid)}/{verb}", _job, body=_json(given), request_id=key, change=True)


def retry(uid: str, changes: Mapping[str, Any] | None, *, key: str) -> Call[Made]:
    """
    A new job like the finished one.
    """
    body = {"set": dict(changes)} if changes else {}
    return Call("POST", f"{_path(uid)}/retry", _made, body=_json(body), request_id=key, change=True)


def delete(uid: str) -> Call[None]:
    """
    Remove the finished job for good.
    """
    return Call("DELETE", _path(uid), lambda answer: None, change=True, done_if=frozenset({404, 410}))


def attempts(uid: str) -> Call[list[answers.Attempt]]:
    """
    Every attempt, oldest first.
    """
    return Call("GET", f"{_path(uid)}/attempts", lambda answer: _attempts(answer).items)


def evidence(uid: str) -> Call[list[answers.Evidence]]:
    """
    Every piece of evidence, in the order it was found.
    """
    return Call("GET", f"{_path(uid)}/evidence", lambda answer: _evidence(answer).items)


def events(uid: str, *, after: int, limit: int = 500) -> Call[answers.EventPage]:
    """
    At most `limit` events of the job behind the one numbered `after`.
    """
    query = (("after", str(after)), ("limit", str(limit)))
    return Call("GET", f"{_path(uid)}/events", reader(answers.EventPage), query=query)


def all_events(*, after: int, limit: int, namespace: str | None) -> Call[answers.EventPage]:
    """
    At most `limit` events of all jobs behind the one numbered `after`.
    """
    query = [("after", str(after)), ("limit", str(limit)), ("namespace", namespace)]
    return Call("GET", "/v1/events", reader(answers.EventPage), query=_given(query))


def logs(uid: str, *, attempt: int, stream: str, cursor: str | None, tail_bytes: int | None = None) -> Call[LogChunk]:
    """
    A piece of output from `cursor` on.
    """
    query = [
        ("attempt", str(attempt)),
        ("stream", stream),
        ("cursor", cursor),
        ("tail", None if tail_bytes is None else str(tail_bytes)),
        ("limit", str(CHUNK_BYTES)),
    ]
    return Call("GET", f"{_path(uid)}/logs", _chunk, query=_given(query), headers=(("accept", "text/plain"),))


def explain(uid: str) -> Call[answers.Explanation]:
    """
    What is known, what is not, and what would settle it.
    """
    return Call("GET", f"{_path(uid)}/explain", reader(answers.Explanation))


def document(path: str, query: Query = ()) -> Call[dict[str, Any]]:
    """
    Any JSON document of the interface.
    """
    return Call("GET", path, reader(dict[str, Any]), query=query)


def body_of(spec: Spec, namespace: str) -> bytes:
    """
    The request body of a submission.
    """
    return _json(
        {
            "name": spec.name,
            "namespace": spec.namespace or namespace,
            "labels": dict(spec.labels),
            "spec": msgspec.to_builtins(spec.work),
        }
    )


def _made(answer: Answer) -> Made:
    return Made(_job(answer), answer.headers.get("idempotent-replayed", "").lower() == "true")


def _chunk(answer: Answer) -> LogChunk:
    headers = answer.headers
    offset = headers.get("log-offset", "0")
    return LogChunk(
        data=answer.body,
        offset=int(offset) if offset.isdecimal() else 0,
        next_cursor=headers.get("next-cursor"),
        ended=headers.get("log-ended", "").lower() == "true",
    )


def _path(uid: str) -> str:
    return "/v1/jobs/" + quote(uid, safe="")


def _given(query: Sequence[tuple[str, str | None]]) -> Query:
    return tuple((name, value) for name, value in query if value is not None)


def _json(value: object) -> bytes:
    return msgspec.json.encode(value, order="deterministic")
