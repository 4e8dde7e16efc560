"""
Bounds of a request: how large, how many a second.

Belongs here: the token bucket and the body reader. Not here: answers to what exceeds them (`problems`).
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.requests import ClientDisconnect, Request

from standfast.api.headers import header
from standfast.api.problems import Throttled
from standfast.core.errors import InvalidSpec

BODY_S = 30.0
"""Longest wait for a body."""

CALLERS_MAX = 10_000
"""Buckets kept; the one that was idle for longest goes first, and is full again when it comes back."""


class Buckets:
    """
    One token bucket per caller: `per_s` requests a second, bursts of twice that. now: seconds since whenever.
    """

    def __init__(self, per_s: float, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._per_s = per_s
        self._burst = max(1.0, per_s * 2)
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> None:
        """
        Let one request of the caller pass.

        Raises:
            Throttled: It has none left; `retry_after_s` says when it has.
        """
        now = self._now()
        level, at = self._levels.get(caller, (self._burst, now))
        level = min(self._burst, level + (now - at) * self._per_s)
        if level < 1:
            self._levels[caller] = (level, now)
            raise Throttled(f"more than {self._per_s:g} requests a second", retry_after_s=(1 - level) / self._per_s)
        self._levels[caller] = (level - 1, now)
        self._levels.move_to_end(caller)
        if len(self._levels) > CALLERS_MAX:
            self._levels.popitem(last=False)


class BodyTooLarge(InvalidSpec):
    """
    The body is larger than allowed; it was not read to its end.
    """

    code = "body_too_large"


class RequestTimeout(InvalidSpec):
    """
    The body did not come in time.
    """

    code = "request_timeout"


async def body_of(request: Request, bytes_max: int) -> bytes:
    """
    The whole body, at most `bytes_max` bytes; what does not come at once comes within `BODY_S` seconds.

    Raises:
        BodyTooLarge: By its Content-Length, or by what came. RequestTimeout, ClientDisconnect: As they say.
    """
    declared = header(request, b"content-length") or "0"
    if declared.isdecimal() and (len(declared) > 18 or int(declared) > bytes_max):
        raise _too_large(bytes_max)
    message = await request.receive()
    if message["type"] == "http.request" and not message.get("more_body", False):
        # Nearly every body comes in one piece; the door's own deadline has waited for it.
        whole: bytes = message.get("body", b"")
        if len(whole) > bytes_max:
            raise _too_large(bytes_max)
        return whole
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_S):
            while message["type"] == "http.request":
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > bytes_max:
                    raise _too_large(bytes_max)
                if not message.get("more_body", False):
                    return b"".join(parts)
                message = await request.receive()
    except TimeoutError as error:
        late = RequestTimeout([])
        late.message = f"the body did not come within {BODY_S:g} s"
        raise late from error
    raise ClientDisconnect


def _too_large(bytes_max: int) -> BodyTooLarge:
    error = BodyTooLarge([])
    error.message = f"the body is larger than {bytes_max} bytes"
    return error
