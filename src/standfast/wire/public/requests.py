"""
What callers send. Unknown fields are refused, so that a mistyped one is a mistake and not a default.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from standfast.core.job.spec import Spec
from standfast.core.job.state import Outcome


class _Request(msgspec.Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """
    Base of what callers send.
    """


class SubmitBody(_Request, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """
    One job to accept. request_id: the same as the Idempotency-Key header.
    """

    name: str
    spec: Spec
    namespace: str = "default"
    labels: dict[str, str] = {}
    request_id: str | None = None


class BatchBody(_Request, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """
    Jobs to accept with one flush to disk, each by itself; at most 1,000.
    """

    jobs: list[SubmitBody]


class ReasonBody(_Request, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """
    Why someone asks for it, for the record.
    """

    reason: str | None = None


class RetryBody(_Request, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """
    set: a JSON merge patch (RFC 7396) to the finished job's spec.
    """

    set: dict[str, Any] = {}
    request_id: str | None = None


class ResolveBody(_Request, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """
    A person's word on an uncertain job, with what it rests on; `done` also says how it ended.
    """

    answer: Literal["absent", "present", "done"]
    because: str
    outcome: Outcome | None = None
