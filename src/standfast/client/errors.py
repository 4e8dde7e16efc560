"""
What can go wrong between a caller and a control plane, split by what the caller should do next.

Belongs here: the classes, and the one mapping from a problem document to them. Not here: when to try again
(`retrying`), or how an error is shown.

A failed job is a value; only `JobView.result` turns it into an exception, because a caller asked for that::

    ClientError                 .code .hint .retry .status .request_id
    ├── Problem                 the control plane said no, in a problem document
    │   ├── Invalid             400 / 413 / 415 / 422: change the request; .errors names the fields
    │   ├── KeyReused           422: this request id belongs to another command
    │   ├── NotAllowed          401 / 403: sign in, or ask for the role
    │   ├── NotFound            404: no such thing
    │   ├── Conflict            409 / 412: it does not fit the state the thing is in
    │   ├── Gone                410: it was here, and is no more
    │   └── Unavailable         429 / 503 and other 5xx: the same request may be sent again later
    ├── NoAnswer                nobody answered; .sent tells whether anything left at all
    ├── BadAnswer               somebody answered, but not a control plane we understand
    ├── WaitTimeout             (TimeoutError) the wait is over, the job goes on
    ├── CannotCome              the state waited for can no longer come
    └── JobNotSucceeded         .job is the final or uncertain snapshot
        ├── JobFailed · JobCancelled · JobUncertain
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from standfast.core.errors import FieldError


class ClientError(Exception):
    """
    Base of them all: `code` is stable, `hint` is one sentence on what to do, `retry` says whether that may help.

    retry: `never`, `same_request` (send the very same again), `later`, or `after_fix`. request_id: of the change that
    was sent, None for a question.
    """

    code = "error"
    retry = "never"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        hint: str | None = None,
        retry: str | None = None,
        status: int | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.status = status
        self.request_id = request_id
        self.code = code or type(self).code
        self.retry = retry or type(self).retry


class Problem(ClientError):
    """
    The control plane refused; `document` is its whole problem document, `errors` the wrong fields.
    """

    def __init__(
        self,
        message: str,
        *,
        document: Mapping[str, Any] | None = None,
        errors: tuple[FieldError, ...] = (),
        retry_after_s: float | None = None,
        code: str | None = None,
        hint: str | None = None,
        retry: str | None = None,
        status: int | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message, code=code, hint=hint, retry=retry, status=status, request_id=request_id)
        self.document = dict(document or {})
        self.errors = errors
        self.retry_after_s = retry_after_s


class Invalid(Problem):
    """
    The request says something that is refused; nothing was stored, and its request id is not used up.
    """

    retry = "after_fix"


class KeyReused(Problem):
    """
    The request id made another thing; the first stands, this one was not stored.
    """


class NotAllowed(Problem):
    """
    Not signed in, or the role does not allow it; nothing was done.
    """

    retry = "after_fix"


class NotFound(Problem):
    """
    There is no such thing.
    """


class Conflict(Problem):
    """
    It does not fit the state the thing is in now; nothing changed.
    """

    retry = "after_fix"


class Gone(Problem):
    """
    It existed and was removed for good.
    """


class Unavailable(Problem):
    """
    The control plane, its store or an engine cannot answer now.
    """

    retry = "later"


class NoAnswer(ClientError):
    """
    Nobody answered in time, so nothing is known; sending the same with `request_id` cannot do it twice.

    sent: False if every try failed before a byte left, so that nothing can have happened.
    """

    code = "no_answer"
    retry = "same_request"

    def __init__(
        self, message: str, *, request_id: str | None = None, sent: bool = True, hint: str | None = None
    ) -> None:
        super().__init__(message, request_id=request_id, hint=hint)
        self.sent = sent


class BadAnswer(ClientError):
    """
    What answered is not a control plane of a version this client understands.
    """

    code = "bad_answer"


class WaitTimeout(ClientError, TimeoutError):
    """
    The time for waiting is over. The job goes on; `job` is the last snapshot seen.
    """

    code = "wait_timeout"
    retry = "later"

    def __init__(self, message: str, job: Any = None) -> None:
        super().__init__(message, hint="The job goes on; wait again, or look at it.")
        self.job = job

    @classmethod
    def of(cls, job: Any, timeout_s: float) -> WaitTimeout:
        """
        The error of a wait of that many seconds, as the caller gave them.
        """
        return cls(f"{job.uid} is still {job.phase.replace('_', ' ')} after {timeout_s:.10g}s", job)


class CannotCome(ClientError):
    """
    No arrow leads from where the job is to what was waited for; `job` is the snapshot that says so.
    """

    code = "cannot_come"

    def __init__(self, message: str, job: Any) -> None:
        super().__init__(message)
        self.job = job


class JobNotSucceeded(ClientError):
    """
    The job did not end well; `job` is the snapshot with all that is known.
    """

    code = "job_not_succeeded"

    def __init__(self, message: str, job: Any) -> None:
        super().__init__(message)
        self.job = job


class JobFailed(JobNotSucceeded):
    """
    The job failed, and no further attempt follows.
    """

    code = "job_failed"


class JobCancelled(JobNotSucceeded):
    """
    The job ended at someone's request.
    """

    code = "job_cancelled"


class JobUncertain(JobNotSucceeded):
    """
    It is not known what became of the job; nothing is concluded until evidence or a person settles it.
    """

    code = "job_uncertain"


_BY_STATUS: Mapping[int, type[Problem]] = {
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    410: Gone,
    412: Conflict,
    429: Unavailable,
}


def problem_of(
    status: int, body: bytes, *, retry_after: str | None = None, request_id: str | None = None
) -> ClientError:
    """
    The error that an answer of 400 or above amounts to; an answer without a problem document is told as it is.
    """
    try:
        document = msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.MsgspecError:
        document = {}
    if "code" not in document:
        kind: type[Problem] = Unavailable if status >= 500 else _BY_STATUS.get(status, Invalid)
        return kind(
            f"answered {status} without a problem document",
            code=f"http_{status}",
            status=status,
            retry_after_s=_seconds(retry_after),
            request_id=request_id,
        )
    code = str(document["code"])
    if code == "idempotency_key_reused":
        kind = KeyReused
    else:
        kind = _BY_STATUS.get(status, Unavailable if status >= 500 else Invalid)
    return kind(
        str(document.get("detail") or document.get("title") or code),
        document=document,
        errors=_field_errors(document.get("errors")),
        retry_after_s=_seconds(retry_after),
        code=code,
        hint=document.get("hint"),
        retry=document.get("retry"),
        status=status,
        # The caller's own id is the one to send again under; the control plane's is in the document, for its log.
        # The caller's own, to send again under; that of the refusal is in the document, for the control plane's log.
        request_id=request_id,
    )


def _field_errors(found: Any) -> tuple[FieldError, ...]:
    if not isinstance(found, list):
        return ()
    return tuple(
        FieldError(str(e.get("pointer", "")), str(e.get("code", "")), str(e.get("message") or e.get("detail") or ""))
        for e in found
        if isinstance(e, dict)
    )


def _seconds(text: str | None) -> float | None:
    """
    A Retry-After in seconds; its date form is not used by a control plane and counts as none.
    """
    try:
        return max(0.0, float(text)) if text else None
    except ValueError:
        return None
