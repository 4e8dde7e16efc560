"""
Finding the endpoint of a path: segment by segment, at a cost that does not grow with the number of routes.

Belongs here: paths, methods, and what answers where there is no route. Not here: which routes there are (`routes`), or
what stands before a handler (`door`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from standfast.api.problems import to_response
from standfast.core.errors import NotFound, Rejected
from standfast.ports.ids import Ids


@dataclass
class _Place:
    """
    What may follow after some segments: given words, any word as a parameter, or the end of the path.
    """

    words: dict[str, _Place] = field(default_factory=dict)
    parameter: str = ""
    any_word: _Place | None = None
    endpoint: ASGIApp | None = None
    allow: str = ""


class Switch:
    """
    An ASGI application over endpoints by path and method; `{name}` in a path is one segment, given words win over it.
    """

    def __init__(self, endpoints: Mapping[str, tuple[ASGIApp, tuple[str, ...]]], ids: Ids) -> None:
        self._ids = ids
        self._root = _Place()
        self._fixed: dict[tuple[str, str], ASGIApp] = {}
        for path, (endpoint, methods) in endpoints.items():
            place = self._root
            for segment in path.split("/"):
                if segment.startswith("{"):
                    place.parameter = segment.strip("{}")
                    place.any_word = place.any_word or _Place()
                    place = place.any_word
                else:
                    place = place.words.setdefault(segment, _Place())
            place.endpoint, place.allow = endpoint, ", ".join(methods)
            if "{" not in path:
                self._fixed |= {(method, path): endpoint for method in methods}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError(f"there is nothing here for {scope['type']}")
        path = scope["path"]
        endpoint = self._fixed.get((scope["method"], path)) or self._found(scope, path)
        await endpoint(scope, receive, send)

    def _found(self, scope: Scope, path: str) -> ASGIApp:
        place = self._root
        parameters: dict[str, str] = {}
        for segment in path.split("/"):
            following = place.words.get(segment)
            if following is None and place.any_word is not None and segment:
                following, parameters[place.parameter] = place.any_word, segment
            if following is None:
                return self._nothing(path)
            place = following
        if place.endpoint is None:
            return self._nothing(path)
        if scope["method"] not in place.allow.split(", "):
            return self._no_such_method(scope["method"], path, place.allow)
        scope["path_params"] = parameters
        return place.endpoint

    def _nothing(self, path: str) -> Response:
        return to_response(NotFound(f"there is no {path}"), instance=path, request_id=self._ids.request_id())

    def _no_such_method(self, method: str, path: str, allow: str) -> Response:
        refused = Rejected(f"{method} is not for {path}", code="method_not_allowed")
        response = to_response(refused, instance=path, request_id=self._ids.request_id())
        response.headers["Allow"] = allow
        return response
