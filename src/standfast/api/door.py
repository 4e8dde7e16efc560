"""
The door: what every request passes before its handler, and what becomes of errors after it.

Belongs here: who calls, how often, with which parameters, for how long; timing. Not here: what a single route does.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import parse_qsl

import structlog
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from standfast.api.auth import LOCAL, Caller, Role, Tokens, authorize
from standfast.api.bounds import Buckets
from standfast.api.headers import header
from standfast.api.patience import Patience
from standfast.api.problems import invalid_query, to_response
from standfast.api.route import Desk, Route
from standfast.core.errors import Forbidden, StandfastError, Unavailable
from standfast.runtime.timings import Timer, Timings

log = structlog.get_logger(__name__)

ANSWER_S = 90.0
"""Longest that a request may take to its answer's beginning, longer than any wait that it can ask for."""

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30)
_GONE_AWAY = 499
"""Status of a request whose caller left; only metrics see it."""


class Door:
    """
    Everyone comes in here. Without tokens only programs of this machine do, see `_local`.
    """

    def __init__(self, desk: Desk, tokens: Tokens | None, buckets: Buckets) -> None:
        self._desk = desk
        self._tokens = tokens
        self._buckets = buckets
        self._patience = Patience()
        self._times = Timings(
            "standfast_request_seconds",
            "Time of one request to its answer, by route and status.",
            ("method", "path", "status"),
            _SECONDS,
        )
        desk.metrics.register(self._times)

    def at(self, routes: Sequence[Route]) -> ASGIApp:
        """
        What answers at one path.
        """
        return _Endpoint(self, routes)

    async def answer(self, entry: _Entry, request: Request) -> Response:
        """
        The handler's answer, or the problem document of what went wrong.
        """
        route = entry.route
        began = time.perf_counter()
        task = self._patience.begin(began, ANSWER_S)
        try:
            caller = self._caller(request, route.role)
            if request.scope["query_string"]:
                _check_query(request, entry)
            response = await route.handler(self._desk, request, caller)
        except StandfastError as error:
            response = self._refused(request, error)
        except asyncio.CancelledError:
            if not self._patience.end(task):
                raise
            late = Unavailable(f"no answer within {ANSWER_S:g} s; not known whether it was done")
            response = self._refused(request, late)
        except ClientDisconnect:
            response = Response(status_code=_GONE_AWAY)
        finally:
            self._patience.end(task)
        self._measure(entry, response.status_code, time.perf_counter() - began)
        return response

    def fault(self, request: Request, error: Exception) -> Response:
        """
        The answer to a fault of ours: logged whole, told without its inside.
        """
        path, request_id = request.scope["path"], self._desk.world.ids.request_id()
        log.error("request_failed", method=request.method, path=path, request_id=request_id, exc_info=error)
        return to_response(
            StandfastError("something broke here", code="internal"), instance=path, request_id=request_id
        )

    def _refused(self, request: Request, error: StandfastError) -> Response:
        request_id = self._desk.world.ids.request_id()
        response = to_response(error, instance=request.scope["path"], request_id=request_id)
        if response.status_code >= 500:
            log.warning(
                "request_refused",
                method=request.method,
                path=request.scope["path"],
                code=error.code,
                detail=error.message,
                request_id=request_id,
            )
        return response

    def _measure(self, entry: _Entry, status: int, seconds: float) -> None:
        timer = entry.timers.get(status)
        if timer is None:
            timer = entry.timers[status] = self._times.of(entry.route.method, entry.route.path, str(status))
        timer.observe(seconds)

    def _caller(self, request: Request, needed: Role | None) -> Caller:
        """
        Who calls, within its bounds.

        Raises:
            Forbidden: Not known, not allowed, or a page of somebody else's site. Throttled: Too often.
        """
        if self._tokens is not None and needed is not None:
            try:
                caller = authorize(self._tokens, header(request, b"authorization"), needed)
            except Forbidden:
                # Guessing is bounded by address.
                self._buckets.take(_address(request))
                raise
            self._buckets.take(caller.name)
            return caller
        self._buckets.take(_address(request))
        if needed is None:
            return _ANYONE
        _local(request)
        return authorize(None, None, needed)


_ANYONE = Caller("anyone", Role.VIEWER)


def _address(request: Request) -> str:
    return request.client.host if request.client else LOCAL


class _Entry:
    """
    What is kept ready of one route: its query parameters, and its timers by status.
    """

    def __init__(self, route: Route) -> None:
        self.route = route
        self.once = frozenset(param.name for param in route.params if not param.many)
        self.many = frozenset(param.name for param in route.params if param.many)
        self.timers: dict[int, Timer] = {}


class _Endpoint:
    """
    The routes of one path as an ASGI application: the router hands over scope and channels as they are.
    """

    def __init__(self, door: Door, routes: Sequence[Route]) -> None:
        self._door = door
        self._entries = {route.method: _Entry(route) for route in routes}
        if "GET" in self._entries:
            self._entries["HEAD"] = self._entries["GET"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        response: Response | None = None
        try:
            response = await self._door.answer(self._entries[scope["method"]], request)
            await response(scope, receive, send)
        except Exception as error:
            told = self._door.fault(request, error)
            if response is None:
                await told(scope, receive, send)
            # The server is to know it too: it closes the connection of an answer that broke off.
            raise


def _check_query(request: Request, entry: _Entry) -> None:
    """
    Refuse parameters that the route does not have, or has once.
    """
    given = Counter(name for name, _ in parse_qsl(request.scope["query_string"].decode("latin-1"), True))
    unknown = given.keys() - entry.once - entry.many
    if unknown:
        raise invalid_query(min(unknown), "is no parameter of this route")
    for name in entry.once:
        if given[name] > 1:
            raise invalid_query(name, "may be given once only")


def _local(request: Request) -> None:
    """
    Refuse what a web page of another site makes a browser of this machine send, where no token would stop it.

    A page may post to any address (its Origin tells), and may point a name of its own at 127.0.0.1 (the Host tells).

    Raises:
        Forbidden: It comes from such a page.
    """
    host = header(request, b"host") or ""
    origin = header(request, b"origin")
    if not _here(host) or (origin is not None and origin.partition("://")[2] != host):
        raise Forbidden(
            f"a page of {origin or host} may not call this control plane, which has no tokens",
            hint="Use 127.0.0.1 or localhost as the address, or serve with a tokens file.",
        )


@lru_cache(maxsize=64)  # a few hosts are asked for with every request, and reading an address takes a while
def _here(host: str) -> bool:
    """
    Whether a name, with or without a port, can only be that of this machine.
    """
    name = host[1 : host.find("]")] if host.startswith("[") else host.partition(":")[0]
    try:
        return ip_address(name).is_loopback
    except ValueError:
        # A name without a dot cannot be somebody's domain.
        return "." not in name or name.endswith(".localhost")
