"""
The errors a caller can tell apart, split by what the caller should do next.

A failed job is a value and never appears here; these are failed *calls*::

    StandfastError                 .code stable, .hint one sentence for a person
    ├── Rejected                   the request does not fit the state or the spec     -> 409 / 422, never retried
    │   ├── InvalidSpec            one or more fields are wrong, each with its path   -> 422
    │   └── KeyReused              same request id, other command                     -> 422, names both digests
    ├── NotFound                   no such job, attempt, log                          -> 404
    ├── Conflict                   the revision moved under us                        -> reload, take the turn again
    ├── Gone                       it was here and is no more, for good                -> 410
    ├── Forbidden                  not signed in, or not allowed                      -> 401 / 403
    └── Unavailable                store or engine did not answer                     -> 503, back off
    IllegalTransition              (AssertionError) a bug in `decide` or the table: park the job, page a person
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class FieldError(msgspec.Struct, frozen=True, gc=False):
    """
    One wrong field: `pointer` is a JSON pointer into the request body, `code` is stable, `message` is for a person.
    """

    pointer: str
    code: str
    message: str


def field_error(error: msgspec.ValidationError, *, at: str = "") -> FieldError:
    """
    msgspec's complaint as a field error: its path, `$.a.b[0]`, becomes a JSON pointer below `at`.
    """
    message, _, path = str(error).partition(" - at `")
    # About a key it says "`key` in `$.a`": the pointer is to what holds the key.
    path = path.rstrip("`").rpartition(" in `")[2]
    pointer = path.removeprefix("$").replace("[...]", "/*")
    for old, new in ((".", "/"), ("[", "/"), ("]", "")):
        pointer = pointer.replace(old, new)
    return FieldError(at + pointer, "malformed", message)


class StandfastError(Exception):
    """
    Base of every error of a call; `code` never changes its meaning, `hint` says what to do.
    """

    code = "error"

    def __init__(self, message: str, *, code: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if code is not None:
            self.code = code


class Rejected(StandfastError):
    """
    The command does not fit the state the resource is in; nothing changed.
    """

    code = "not_in_this_phase"


class InvalidSpec(Rejected):
    """
    The request is well-formed but says something we refuse; every wrong field is listed, nothing was stored.
    """

    code = "invalid_spec"

    def __init__(self, errors: Sequence[FieldError], *, hint: str | None = None) -> None:
        self.errors = tuple(errors)
        named = "; ".join(f"{e.pointer or '/'}: {e.message}" for e in self.errors)
        super().__init__(f"invalid spec: {named}", hint=hint)


class KeyReused(Rejected):
    """
    The request id was used before for another command; the first command stands, this one was not stored.
    """

    code = "idempotency_key_reused"

    def __init__(self, *, request_id: str, uid: str, stored_digest: str, given_digest: str) -> None:
        self.request_id = request_id
        self.uid = uid
        self.stored_digest = stored_digest
        self.given_digest = given_digest
        super().__init__(
            f"request id {request_id!r} belongs to {uid} with digest {stored_digest}; this request has {given_digest}",
            hint="Send the first body again to get the first answer, or choose a new request id.",
        )


class NotFound(StandfastError):
    """
    There is no such thing in this store.
    """

    code = "not_found"


class Gone(StandfastError):
    """
    The thing existed and was removed for good, so asking again will not help.
    """

    code = "gone"


class Conflict(StandfastError):
    """
    The stored revision is not the one the step was computed from; nothing was written.
    """

    code = "revision_changed"


class Forbidden(StandfastError):
    """
    The caller is unknown (`unauthenticated`) or lacks the role (`forbidden`); nothing was done.
    """

    code = "forbidden"


class Unavailable(StandfastError):
    """
    Someone we depend on did not answer, so nothing is known; the same request may be sent again later.
    """

    code = "unavailable"

    def __init__(
        self, message: str, *, code: str | None = None, hint: str | None = None, retry_after_s: float = 1.0
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.retry_after_s = retry_after_s


class IllegalTransition(AssertionError):
    """
    An event met a phase that has no arrow for it: a bug in ours, never a user's fault. The job is left as it was.
    """
