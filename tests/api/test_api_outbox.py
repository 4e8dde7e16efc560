"""
When answers are written: together at the end of a turn, and never too late.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest
from api_driver import served

from standfast.api import outbox
from standfast.api.outbox import Outbox
from standfast.api.sending import document


async def _pair() -> tuple[asyncio.Transport, socket.socket]:
    """
    A connection of ours, and the end that reads it.
    """
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    transport, _ = await asyncio.get_running_loop().create_connection(asyncio.Protocol, sock=ours)
    return transport, theirs


def _come(reader: socket.socket) -> bytes:
    try:
        return reader.recv(100)
    except BlockingIOError:
        return b"nothing"


async def test_the_answers_of_a_turn_go_out_together() -> None:
    """
    None of them before the last one is ready; the connection of a last answer is closed after it.
    """
    box = Outbox()
    pairs = [await _pair() for _ in range(3)]
    for number, (transport, _) in enumerate(pairs):
        box.put(transport, b"answer %d" % number, last=number == 2)
        assert [_come(reader) for _, reader in pairs] == [b"nothing"] * 3
    await asyncio.sleep(0)
    assert [_come(reader) for _, reader in pairs] == [b"answer 0", b"answer 1", b"answer 2"]
    await asyncio.sleep(0)
    assert [transport.is_closing() for transport, _ in pairs] == [False, False, True]
    for transport, reader in pairs:
        transport.close()
        reader.close()


async def test_a_long_turn_holds_no_answer_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Once the first has waited for long enough, all go; a connection that is gone holds up nobody.
    """
    box = Outbox()
    (first, reading), (gone, lost), (second, other) = [await _pair() for _ in range(3)]
    box.put(first, b"a", last=False)
    box.put(gone, b"b", last=False)
    gone.close()
    monkeypatch.setattr(outbox, "HELD_S", 0.0)
    box.put(second, b"c", last=False)
    assert (_come(reading), _come(other)) == (b"a", b"c")
    for one in (first, second, reading, lost, other):
        one.close()


async def test_an_answer_is_sent_though_the_server_stops_in_that_turn() -> None:
    """
    What was answered is answered: a job that was accepted just before the end is told so.
    """

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await document({"some": "answer"})(scope, receive, send)
        for connection in list(server.server_state.connections):
            connection.shutdown()

    async with served(app) as (port, server), asyncio.timeout(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b'{"some":"answer"}' in await reader.readuntil(b"}")
        assert await reader.read() == b""
        writer.close()


@pytest.mark.parametrize("requests", [0, 3])
async def test_an_idle_connection_is_closed(requests: int) -> None:
    """
    So long after the last answer as uvicorn is told to, however many there were before.
    """

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await document(len(scope["path"]))(scope, receive, send)

    async with served(app) as (port, server), asyncio.timeout(20):
        server.config.timeout_keep_alive = 0.2  # type: ignore[assignment]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        loop = asyncio.get_running_loop()
        for _ in range(requests + 1):
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await reader.readuntil(b"\r\n\r\n1")
            answered = loop.time()
            # Requests that come before the time is over put it off.
            await asyncio.sleep(0.12 * bool(requests))
        assert await reader.read() == b""
        assert 0.15 < loop.time() - answered < 5
        writer.close()
