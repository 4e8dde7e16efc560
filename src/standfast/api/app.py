"""
The application: the route table behind one door that checks the caller, the bounds and the query, and maps errors.

Belongs here: the door. Not here: any single route (`routes`).
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence

import msgspec
import structlog
from prometheus_client import Histogram
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp

from standfast.api import openapi
from standfast.api.auth import LOCAL, Caller, Role, Tokens, authorize
from standfast.api.bounds import Buckets
from standfast.api.problems import invalid_query, to_response
from standfast.api.route import Desk, Route
from standfast.api.routes import ROUTES
from standfast.core.errors import NotFound, Rejected, StandfastError
from standfast.core.job.explain import Waiting
from standfast.core.job.state import Job
from standfast.runtime.intake import Intake
from standfast.runtime.telemetry import Metrics
from standfast.runtime.world import World

log = structlog.get_logger(__name__)

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30)


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
) -> ASGIApp:
    """
    The ASGI application over a wired world.

    tokens: None lets everyone in as admin, which only a loopback address may do. ready: what keeps the loop from its
    work. waiting: what a queued job waits for.
    """
    desk = Desk(world, intake, waiting, ready, metrics, body_bytes_max)
    door = Door(desk, tokens, Buckets(world.clock, requests_per_s))
    described = msgspec.json.format(msgspec.json.encode(openapi.document(ROUTES)))

    async def description(request: Request) -> Response:
        return Response(described, media_type="application/json")

    by_path: dict[str, list[Route]] = {}
    for route in ROUTES:
        by_path.setdefault(route.path, []).append(route)
    # Paths without parameters come first, so that `/v1/jobs/batch` is no uid.
    ordered = sorted(by_path.items(), key=lambda item: "{" in item[0])
    routes = [StarletteRoute(path, door.at(some), methods=[r.method for r in some]) for path, some in ordered]
    routes.append(StarletteRoute("/openapi.json", description, methods=["GET"]))
    return Starlette(
        routes=routes,
        exception_handlers={HTTPException: _unrouted, Exception: _fault},
    )


class Door:
    """
    What every request passes.
    """

    def __init__(self, desk: Desk, tokens: Tokens | None, buckets: Buckets) -> None:
        self._desk = desk
        self._tokens = tokens
        self._buckets = buckets
        self._times = Histogram(
            "standfast_request_seconds",
            "Time of one request, by route and status.",
            ("method", "path", "status"),
            buckets=_SECONDS,
            registry=desk.metrics.registry,
        )

    def at(self, routes: Sequence[Route]) -> Callable[[Request], Awaitable[Response]]:
        """
        The endpoint of one path.
        """
        by_method = {route.method: route for route in routes}
        if "GET" in by_method:
            by_method["HEAD"] = by_method["GET"]
        known = {method: frozenset(param.name for param in route.params) for method, route in by_method.items()}

        async def endpoint(request: Request) -> Response:
            began = time.perf_counter()
            route = by_method[request.method]
            try:
                unknown = request.query_params.keys() - known[request.method] if request.url.query else ()
                if unknown:
                    raise invalid_query(min(unknown), "is no parameter of this route")
                response = await route.handler(self._desk, request, self._caller(request, route.role))
            except StandfastError as error:
                response = to_response(error, instance=request.url.path)
            except ClientDisconnect:
                response = Response(status_code=499)
            seconds = time.perf_counter() - began
            self._times.labels(route.method, route.path, response.status_code).observe(seconds)
            return response

        return endpoint

    def _caller(self, request: Request, needed: Role | None) -> Caller:
        if needed is None:
            return Caller("anyone", Role.VIEWER)
        address = request.client.host if request.client else LOCAL
        if self._tokens is None:
            self._buckets.take(address)
            return authorize(None, None, needed)
        try:
            caller = authorize(self._tokens, request.headers.get("authorization"), needed)
        except StandfastError:
            # Guessing is bounded by address.
            self._buckets.take(address)
            raise
        self._buckets.take(caller.name)
        return caller


async def _unrouted(request: Request, error: Exception) -> Response:
    """
    No such path, or no such method on it.
    """
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        refused = Rejected(f"{request.method} is not for {request.url.path}", code="method_not_allowed")
        response = to_response(refused, instance=request.url.path)
        response.headers["Allow"] = (error.headers or {}).get("Allow", "")
        return response
    return to_response(NotFound(f"there is no {request.url.path}"), instance=request.url.path)


async def _fault(request: Request, error: Exception) -> Response:
    """
    A fault of ours: logged whole, told without its inside.
    """
    log.error("request_failed", method=request.method, path=request.url.path, exc_info=error)
    return to_response(StandfastError("something broke here", code="internal"), instance=request.url.path)
