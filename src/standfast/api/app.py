"""
The application: the route table behind one door that checks the caller, the bounds and the query, and maps errors.

Belongs here: how the table becomes an application. Not here: how a path is found (`switch`), the door (`door`), any
single route (`routes`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import cache

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from standfast.api import openapi
from standfast.api.auth import Tokens
from standfast.api.bounds import Buckets
from standfast.api.door import Door
from standfast.api.feed import Feed
from standfast.api.route import Desk, Route
from standfast.api.routes import ROUTES
from standfast.api.sse import event_frame
from standfast.api.switch import Switch
from standfast.core.job.explain import Waiting
from standfast.core.job.state import Job
from standfast.runtime.intake import Intake
from standfast.runtime.telemetry import Metrics
from standfast.runtime.world import World


def build_app(
    world: World,
    intake: Intake,
    *,
    tokens: Tokens | None,
    ready: Callable[[], str | None],
    waiting: Callable[[Job], Awaitable[Waiting | None]],
    metrics: Metrics,
    body_bytes_max: int = 4 * 1024 * 1024,
    requests_per_s: float = 20_000.0,
) -> Api:
    """
    The ASGI application over a wired world.

    tokens: None lets everyone in as admin, which only a loopback address may do. ready: what keeps the loop from its
    work. waiting: what a queued job waits for. requests_per_s: of one caller, with bursts of twice that.
    """
    feed = Feed(world, event_frame)
    desk = Desk(world, intake, waiting, ready, metrics, feed, _description, body_bytes_max)
    door = Door(desk, tokens, Buckets(requests_per_s))
    by_path: dict[str, list[Route]] = {}
    for route in ROUTES:
        by_path.setdefault(route.path, []).append(route)

    endpoints = {path: (door.at(some), _methods(some)) for path, some in by_path.items()}
    return Api(Switch(endpoints, world.ids), feed)


@cache
def _description() -> bytes:
    """
    The OpenAPI document, made when it is first asked for: few ask, and it is a tenth of a start.
    """
    return msgspec.json.encode(openapi.document(ROUTES))


def _methods(routes: Sequence[Route]) -> tuple[str, ...]:
    """
    Those of the routes, and HEAD where there is a GET.
    """
    methods = [route.method for route in routes]
    return (*methods, "HEAD") if "GET" in methods else tuple(methods)


class Api:
    """
    The ASGI application.
    """

    def __init__(self, app: ASGIApp, feed: Feed) -> None:
        self._app = app
        self._feed = feed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    def end_streams(self) -> None:
        """
        End every stream and give every held-back answer, so that a server that stops need not wait for readers.
        """
        self._feed.end()
