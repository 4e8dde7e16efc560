"""
Heads of requests over a real connection: bounded in size and time, before any token is read.
"""

from __future__ import annotations

import asyncio

import pytest

from standfast.api import head


async def _answer(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(20):
        return await reader.read()


@pytest.mark.parametrize("piece", [b"X: " + b"a" * 1000 + b"\r\n", b"a" * 1000])
async def test_an_endless_head_is_refused(port: int, piece: bytes) -> None:
    """
    Many headers or one that never ends: 400 and the connection is closed, long before memory matters.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
    sent = 0
    try:
        while not reader.at_eof() and sent < 50_000_000:
            writer.write(piece)
            sent += len(piece)
            await writer.drain()
            await asyncio.sleep(0)
    except ConnectionError:
        pass
    assert sent < 50_000_000, "it was all taken"
    writer.close()


async def test_a_large_head_in_pieces_is_told(port: int) -> None:
    """
    The refusal says what was wrong; heads below the bound are served, one after the other on one connection.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    small = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 30_000 + b"\r\n\r\n"
    for _ in range(5):
        writer.write(small)
        async with asyncio.timeout(20):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
            assert await reader.readexactly(3) == b"ok\n"
    writer.write(b"GET /healthz HTTP/1.1\r\nX: " + b"a" * (head.HEAD_BYTES_MAX + 1))
    told = await _answer(reader)
    assert told.startswith(b"HTTP/1.1 400") and told.endswith(b"The head of the request is too large.")
    writer.close()


async def test_a_large_body_is_no_head(port: int) -> None:
    """
    A body that comes with its head in one piece is not counted as one.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = b'{"name":"a","spec":{"engine":"fake","program":{"output":"' + b"x" * 200_000 + b'"}}}'
    length = str(len(body)).encode()
    post = b"POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: " + length
    writer.write(post + b"\r\n\r\n" + body)
    assert (await _answer(reader)).startswith(b"HTTP/1.1 201")
    writer.close()


@pytest.mark.parametrize("begun", [b"", b"GET /healthz HTTP/1.1\r\nX: "])
async def test_a_head_that_does_not_come_is_not_waited_for(
    port: int, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    """
    A silent connection, and one that stops within its head, are closed.
    """
    monkeypatch.setattr(head, "HEAD_S", 0.05)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(begun)
    assert await _answer(reader) == b""
    writer.close()
