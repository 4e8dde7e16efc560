"""
Driving the API in tests: a client without a network, a reader of streams, and the usual job.

Belongs here: how a test talks to the application. Not here: what it should answer.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import msgspec
import uvicorn

from standfast.api.head import BoundedHttp
from standfast.api.openapi import codes_of
from standfast.api.routes import ROUTES

ADDRESS = "http://127.0.0.1"
WAIT_S = 20.0


def client_of(app: Any, **headers: str) -> httpx2.AsyncClient:
    """
    A client of the application that sends these headers.
    """
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    hooks = {"response": [_is_documented]}
    return httpx2.AsyncClient(transport=transport, base_url=ADDRESS, headers=headers, event_hooks=hooks)


@asynccontextmanager
async def served(app: Any, http: Any = BoundedHttp) -> AsyncIterator[tuple[int, uvicorn.Server]]:
    """
    The application behind a real server, as long as the block lasts; its port, and the server.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(app, http=http, lifespan="off", log_config=None, access_log=False)
        server = uvicorn.Server(config)
        config.load()
        server.lifespan = config.lifespan_class(config)
        await server.startup(sockets=[listener])
        yield listener.getsockname()[1], server
        await server.shutdown(sockets=[listener])


async def _is_documented(answer: httpx2.Response) -> None:
    """
    Whatever a test does, its answer is one that the route table has: status, type of content, and problem code.
    """
    method, path = answer.request.method.replace("HEAD", "GET"), answer.request.url.path
    # A given word wins over a parameter, as in the application.
    paths = sorted((r.path for r in ROUTES if _fits(r.path, path)), key=lambda pattern: "{" in pattern)
    fitting = [route for route in ROUTES if paths and (route.method, route.path) == (method, paths[0])]
    if not fitting:
        assert answer.status_code in (404, 405), f"{method} {path}: {answer.status_code}"
        return
    route = fitting[0]
    kind = answer.headers.get("content-type", "").partition(";")[0]
    if kind == "application/problem+json":
        if answer.request.method == "HEAD":
            return
        code = msgspec.json.decode(await answer.aread())["code"]
        assert code in codes_of(route) or code == "internal", f"{method} {route.path} answers {code}"
        return
    kinds = {"application/json" if isinstance(one, type) else one for one in route.answers[answer.status_code]}
    assert kind in (kinds or {""}), f"{method} {route.path}: {kind}"


def _fits(pattern: str, path: str) -> bool:
    return re.fullmatch(re.sub(r"{\w+}", "[^/]+", pattern), path) is not None


def job(name: str = "one", *, spec: Mapping[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """
    The body of a submission for the fake engine; what it does is `program`.
    """
    program = fields.pop("program", {})
    return {"name": name, "spec": {"engine": "fake", "program": program, **(spec or {})}, **fields}


async def made(http: httpx2.AsyncClient, name: str = "one", **fields: Any) -> dict[str, Any]:
    """
    An accepted job.
    """
    answer = await http.post("/v1/jobs", json=job(name, **fields))
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


async def ended(http: httpx2.AsyncClient, uid: str) -> dict[str, Any]:
    """
    The job once it is final.
    """
    answer = await http.get(f"/v1/jobs/{uid}", params={"wait": "done", "timeout": WAIT_S})
    assert answer.json()["phase"] in ("succeeded", "failed", "cancelled"), answer.text
    return dict(answer.json())


async def reached(http: httpx2.AsyncClient, uid: str, phase: str) -> dict[str, Any]:
    """
    The job once it is in that phase; held back, never polled.
    """
    async with asyncio.timeout(WAIT_S):
        told = (await http.get(f"/v1/jobs/{uid}")).json()
        while told["phase"] != phase:
            assert told["phase"] not in ("succeeded", "failed", "cancelled"), told
            query = {"wait": "change", "revision": told["revision"], "timeout": WAIT_S}
            told = (await http.get(f"/v1/jobs/{uid}", params=query)).json()
    return dict(told)


class Frame(msgspec.Struct):
    """
    One server-sent event.
    """

    event: str
    id: str
    data: Any


class Stream:
    """
    An open stream: its status and headers, and its frames as they come.
    """

    def __init__(self, app: Any, path: str, headers: Mapping[str, str]) -> None:
        self._parts: asyncio.Queue[bytes | None] = asyncio.Queue(maxsize=1)
        self._rest = b""
        self._asked = False
        self._begun = asyncio.Event()
        self._gone = asyncio.Event()
        self._asked = False
        self.status = 0
        self.headers: dict[str, str] = {}
        self.sent = 0
        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(b"host", b"127.0.0.1"), *((k.lower().encode(), v.encode()) for k, v in headers.items())],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }
        self._task = asyncio.create_task(app(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            self._begun.set()
            return
        self.sent += len(message.get("body", b""))
        await self._parts.put(message.get("body", b""))
        if not message.get("more_body"):
            await self._parts.put(None)

    async def begun(self) -> Stream:
        """
        The stream once its status is known.
        """
        async with asyncio.timeout(WAIT_S):
            await self._begun.wait()
        return self

    async def frame(self) -> Frame | None:
        """
        The next frame that says something; None at the stream's end.
        """
        while True:
            while b"\n\n" not in self._rest:
                async with asyncio.timeout(WAIT_S):
                    part = await self._parts.get()
                if part is None:
                    return None
                self._rest += part
            block, self._rest = self._rest.split(b"\n\n", 1)
            fields = dict(line.split(": ", 1) for line in block.decode().split("\n") if ": " in line)
            if "data" in fields:
                data = msgspec.json.decode(fields["data"])
                return Frame(fields.get("event", "message"), fields.get("id", ""), data)

    async def frames(self, event: str = "message") -> AsyncIterator[Frame]:
        """
        The frames of one kind, until the stream ends.
        """
        while (frame := await self.frame()) is not None:
            if frame.event == event:
                yield frame

    async def leave(self) -> None:
        """
        Go away, as a reader does whose connection broke.
        """
        self._gone.set()
        while not self._task.done():
            while not self._parts.empty():
                self._parts.get_nowait()
            await asyncio.sleep(0)
        await self._task


@asynccontextmanager
async def opened(app: Any, path: str, **headers: str) -> AsyncIterator[Stream]:
    """
    A stream for as long as the block lasts. Header names with `_` for `-`.
    """
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    stream = await Stream(app, path, named).begun()
    try:
        yield stream
    finally:
        await stream.leave()
