"""
One request out, one answer in, over HTTP; with repeats of the same bytes, and streams that resume.

Belongs here: the two shells around `httpx2`, sync and async, line for line the same. Not here: what is asked
(`calls`), when to repeat (`retrying`).
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import httpx2
import msgspec

from standfast import __version__
from standfast.client.calls import Answer, Call, quoted
from standfast.client.errors import BadAnswer, ClientError, problem_of
from standfast.client.retrying import READ_FOR_S, Tries

T = TypeVar("T")

DEFAULT_SERVER = "http://127.0.0.1:8350"

CONNECT_S = 5.0
READ_S = 10.0
"""Longest silence within an answer, beyond what the call itself asked to wait for."""

STREAM_SILENCE_S = 45.0
"""Longest silence on a stream; the server sends a heartbeat every 15 s, so three lost ones mean a dead line."""


@dataclass(frozen=True)
class Frame:
    """
    One server-sent event: `id` is the cursor to resume after, empty if it moves nothing.
    """

    event: str
    data: bytes
    id: str


def _silent(sentence: str) -> None:
    """
    Nobody wants to hear it.
    """


@dataclass(frozen=True)
class Address(Generic[T]):
    """
    Where and as whom: a URL, or a socket in the file system; `transport` replaces the network, for tests.
    """

    server: str
    token: str | None = None
    socket: str | None = None
    transport: T | None = None
    retry_for_s: float = 30.0
    told: Callable[[str], None] = _silent

    @property
    def encrypted(self) -> bool:
        """
        Whether certificates will be checked; reading the trusted ones takes longer than a whole request without.
        """
        return not self.server.startswith("http://")

    @property
    def headers(self) -> dict[str, str]:
        """
        Sent with every request.
        """
        headers = {"user-agent": f"standfast-python/{__version__}", "accept": "application/json"}
        if self.token:
            headers["authorization"] = f"Bearer {self.token}"
        return headers


def address_of(
    server: str | None,
    token: str | None,
    socket: str | None,
    retry_for_s: float,
    told: Callable[[str], None] | None,
    transport: T | None,
) -> Address[T]:
    """
    The address from what a caller gave, and from the environment where nothing was given.
    """
    if server is None:
        server = "http://standfast" if socket else os.environ.get("STANDFAST_SERVER") or DEFAULT_SERVER
    token = token if token is not None else os.environ.get("STANDFAST_TOKEN") or None
    return Address(server.rstrip("/"), token, socket, transport, retry_for_s, told or _silent)


def fresh_key() -> str:
    """
    A request id that nobody had before.
    """
    return secrets.token_hex(16)


def _tries(call: Call[T], address: Address[Any]) -> Tries:
    least_s = min(READ_FOR_S, address.retry_for_s)
    for_s = address.retry_for_s if call.change or call.patient else least_s
    if call.patience_s is not None:
        for_s = min(for_s, max(least_s, call.patience_s))
    return Tries(
        for_s=for_s,
        seed=call.request_id or call.path,
        request_id=call.request_id,
        server=address.server,
        told=address.told,
    )


def _timeout(call: Call[T]) -> httpx2.Timeout:
    return httpx2.Timeout(READ_S + call.waits_s, connect=CONNECT_S)


def _headers(call: Call[T]) -> dict[str, str]:
    headers = dict(call.headers)
    if call.body is not None:
        headers.setdefault("content-type", "application/json")
    if call.request_id is not None:
        headers["idempotency-key"] = quoted(call.request_id)
    return headers


def _understood(call: Call[T], answer: Answer) -> T:
    """
    The call's value, or the error that the answer is.
    """
    if answer.status >= 400 and not (answer.sent_before and answer.status in call.done_if):
        raise problem_of(
            answer.status, answer.body, retry_after=answer.headers.get("retry-after"), request_id=call.request_id
        )
    try:
        return call.read(answer)
    except msgspec.MsgspecError as error:
        raise BadAnswer(
            f"{call.method} {call.path} answered {answer.status} with something unexpected: {error}",
            hint="See whether this is a Standfast server, and of what version: standfast version.",
            status=answer.status,
        ) from error


class HttpTransport:
    """
    The blocking one. Safe to share between threads.
    """

    def __init__(self, address: Address[httpx2.BaseTransport]) -> None:
        self._address = address
        transport = address.transport
        if transport is None and address.socket is not None:
            transport = httpx2.HTTPTransport(uds=address.socket)
        self._http = httpx2.Client(
            base_url=address.server,
            headers=address.headers,
            transport=transport,
            verify=address.encrypted,
            trust_env=address.socket is None,
            follow_redirects=False,
        )

    @property
    def server(self) -> str:
        """
        The URL in use.
        """
        return self._address.server

    @property
    def told(self) -> Callable[[str], None]:
        """
        Who hears of breaks.
        """
        return self._address.told

    def send(self, call: Call[T]) -> T:
        """
        The value of the call, however often its bytes had to be sent.

        Raises:
            NoAnswer: Nobody answered. ClientError: What the answer says.
        """
        begun = time.monotonic()
        tries = _tries(call, self._address)
        while True:
            try:
                response = self._http.request(
                    call.method,
                    call.path,
                    params=call.query,
                    content=call.body,
                    headers=_headers(call),
                    timeout=_timeout(call),
                )
                answer = Answer(response.status_code, response.headers, response.content, tries.sent)
                value = _understood(call, answer)
            except (httpx2.TransportError, ClientError) as error:
                pause_s = tries.failed(error, elapsed_s=time.monotonic() - begun)
            else:
                tries.succeeded()
                return value
            time.sleep(pause_s)

    def stream(self, path: str, query: Mapping[str, str], *, last_id: str | None = None) -> Iterator[Frame]:
        """
        The frames of one connection, until it ends.

        Raises:
            httpx2.TransportError: The line broke. ClientError: What the answer says.
        """
        headers = {"last-event-id": last_id} if last_id else {}
        timeout = httpx2.Timeout(STREAM_SILENCE_S, connect=CONNECT_S)
        with self._http.sse(path, params=dict(query), headers=headers, timeout=timeout) as source:
            if source.response.status_code >= 400:
                raise problem_of(source.response.status_code, source.response.read())
            for found in source:
                yield Frame(found.event, found.data.encode(), found.id)

    def close(self) -> None:
        """
        Let the connections go.
        """
        self._http.close()


class AsyncHttpTransport:
    """
    The one for asyncio.
    """

    def __init__(self, address: Address[httpx2.AsyncBaseTransport]) -> None:
        self._address = address
        transport = address.transport
        if transport is None and address.socket is not None:
            transport = httpx2.AsyncHTTPTransport(uds=address.socket)
        self._http = httpx2.AsyncClient(
            base_url=address.server,
            headers=address.headers,
            transport=transport,
            verify=address.encrypted,
            trust_env=address.socket is None,
            follow_redirects=False,
        )

    @property
    def server(self) -> str:
        """
        The URL in use.
        """
        return self._address.server

    @property
    def told(self) -> Callable[[str], None]:
        """
        Who hears of breaks.
        """
        return self._address.told

    async def send(self, call: Call[T]) -> T:
        """
        The value of the call, however often its bytes had to be sent.

        Raises:
            NoAnswer: Nobody answered. ClientError: What the answer says.
        """
        import asyncio  # here, because the blocking half starts sooner without it

        begun = time.monotonic()
        tries = _tries(call, self._address)
        while True:
            try:
                response = await self._http.request(
                    call.method,
                    call.path,
                    params=call.query,
                    content=call.body,
                    headers=_headers(call),
                    timeout=_timeout(call),
                )
                answer = Answer(response.status_code, response.headers, response.content, tries.sent)
                value = _understood(call, answer)
            except (httpx2.TransportError, ClientError) as error:
                pause_s = tries.failed(error, elapsed_s=time.monotonic() - begun)
            else:
                tries.succeeded()
                return value
            await asyncio.sleep(pause_s)

    async def stream(self, path: str, query: Mapping[str, str], *, last_id: str | None = None) -> AsyncIterator[Frame]:
        """
        The frames of one connection, until it ends.

        Raises:
            httpx2.TransportError: The line broke. ClientError: What the answer says.
        """
        headers = {"last-event-id": last_id} if last_id else {}
        timeout = httpx2.Timeout(STREAM_SILENCE_S, connect=CONNECT_S)
        async with self._http.sse(path, params=dict(query), headers=headers, timeout=timeout) as source:
            if source.response.status_code >= 400:
                raise problem_of(source.response.status_code, await source.response.aread())
            async for found in source:
                yield Frame(found.event, found.data.encode(), found.id)

    async def close(self) -> None:
        """
        Let the connections go.
        """
        await self._http.aclose()
