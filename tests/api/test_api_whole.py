"""
Answers in one piece over a real connection: what comes in is what uvicorn alone would have sent.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from api_driver import served

from standfast.api.sending import document
from standfast.api.whole import WHOLE
from standfast.wiring import Plane

HOST = b"Host: 127.0.0.1\r\n"
LAST = HOST + b"Connection: close\r\n\r\n"
REQUESTS = {
    "GET": b"GET /v1/counts HTTP/1.1\r\n" + LAST,
    "HEAD": b"HEAD /v1/counts HTTP/1.1\r\n" + LAST,
    "HTTP/1.0": b"GET /v1/counts HTTP/1.0\r\n" + HOST + b"\r\n",
    "one after the other": (b"GET /v1/jobs HTTP/1.1\r\n" + HOST + b"\r\n") * 3 + b"GET /healthz HTTP/1.1\r\n" + LAST,
    "HEAD, then GET": b"HEAD /v1/jobs HTTP/1.1\r\n" + HOST + b"\r\n" + b"GET /v1/problems HTTP/1.1\r\n" + LAST,
    "a problem": b"GET /v1/jobs/job_none HTTP/1.1\r\n" + LAST,
}


async def _told(port: int, request: bytes) -> bytes:
    """
    All that comes back until the connection is closed, without what differs from time to time.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    async with asyncio.timeout(20):
        answer = await reader.read()
    writer.close()
    return re.sub(rb"(date: [^\r]*|[0-9a-f]{32})", b"", answer)


@pytest.mark.parametrize("name", REQUESTS)
async def test_it_is_what_uvicorn_would_have_sent(plane: Plane, port: int, name: str) -> None:
    """
    Byte for byte, whatever comes before and after it on its connection, and whether that stays open.
    """
    async with served(plane.app, "httptools") as (plain, _):
        ours, theirs = await _told(port, REQUESTS[name]), await _told(plain, REQUESTS[name])
    assert ours == theirs and ours.startswith(b"HTTP/1.1 ")


async def test_a_connection_that_is_full_is_waited_for(port: int) -> None:
    """
    A reader that does not read holds back the next answer, and gets every one of them in the end.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
    for _ in range(400):
        writer.write(b"GET /v1/problems HTTP/1.1\r\n" + HOST + b"\r\n")
    await writer.drain()
    await asyncio.sleep(0)
    writer.write(b"GET /healthz HTTP/1.1\r\n" + LAST)
    async with asyncio.timeout(20):
        answer = await reader.read()
    assert answer.count(b"HTTP/1.1 200 OK\r\n") == 401 and answer.endswith(b"ok\n")
    writer.close()


async def test_only_a_server_that_takes_it_is_given_one(plane: Plane) -> None:
    """
    To any other the answer goes in the two messages of ASGI.
    """
    counts = {}
    for extensions in ({}, {WHOLE: {}}):
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/v1/counts",
            "query_string": b"",
            "headers": [],
            "client": None,
            "extensions": extensions,
        }
        sent: list[str] = []

        async def send(message: dict[str, object], sent: list[str] = sent) -> None:
            sent.append(str(message["type"]) + "+body" * ("body" in message))

        await plane.app(scope, None, send)  # type: ignore[arg-type]
        counts[len(extensions)] = sent
    assert counts == {0: ["http.response.start", "http.response.body+body"], 1: ["http.response.start+body"]}


async def test_a_proxy_s_word_is_still_taken() -> None:
    """
    uvicorn's own reading of X-Forwarded-For is asked where there is one, and only of a proxy that it trusts.
    """
    seen: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["client"][0])
        await document("")(scope, receive, send)

    async with served(app) as (port, _):
        for header in (b"", b"X-Forwarded-For: 192.0.2.7\r\n", b"X-Forwarded-Proto: https\r\n"):
            await _told(port, b"GET / HTTP/1.1\r\n" + header + LAST)
    assert seen == ["127.0.0.1", "192.0.2.7", "127.0.0.1"]
