"""
What a route is: the one description that routing, checks, OpenAPI and the reference are made from.

Belongs here: the shapes `Param`, `Route`, and what every handler gets. Not here: which routes there are (`routes`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response

from standfast.api.auth import Caller, Role
from standfast.api.feed import Feed
from standfast.core.job.explain import Waiting
from standfast.core.job.state import Job
from standfast.runtime.intake import Intake
from standfast.runtime.telemetry import Metrics
from standfast.runtime.world import World


@dataclass(frozen=True)
class Desk:
    """
    What every handler works with. trouble: what keeps the loop from working, None if nothing does. description: makes
    the OpenAPI document.
    """

    world: World
    intake: Intake
    waiting: Callable[[Job], Awaitable[Waiting | None]]
    trouble: Callable[[], str | None]
    metrics: Metrics
    feed: Feed
    description: Callable[[], bytes]
    body_bytes_max: int


Handler = Callable[[Desk, Request, Caller], Awaitable[Response]]


@dataclass(frozen=True)
class Param:
    """
    A query parameter: its JSON schema and what it means. many: may be given more than once.
    """

    name: str
    meaning: str
    schema: Mapping[str, object] = field(default_factory=lambda: {"type": "string"})
    many: bool = False


@dataclass(frozen=True)
class Route:
    """
    One method on one path. role None: no token needed. answers: by status, each kind of answer: a struct for JSON, or
    a media type; none for an empty one. sends: headers of a good answer. codes: the problem codes it can answer with,
    beyond those of every route.
    """

    method: str
    path: str
    handler: Handler
    summary: str
    role: Role | None = Role.VIEWER
    params: tuple[Param, ...] = ()
    headers: tuple[Param, ...] = ()
    body: type | None = None
    answers: Mapping[int, tuple[type | str, ...]] = field(default_factory=dict)
    sends: Mapping[str, str] = field(default_factory=dict)
    codes: tuple[str, ...] = ()
