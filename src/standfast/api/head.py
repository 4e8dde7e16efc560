"""
A connection: how large the head of a request may be and how long it may take, before anyone is known.

Belongs here: the bounds that uvicorn lacks with httptools, where one connection could take all memory or be kept open
for ever, and its timers, which are not set anew for each request. Not here: bounds of the body and of how often
(`bounds`), how answers go out (`whole`).
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from standfast.api.outbox import outbox_of
from standfast.api.whole import WHOLE, Cycle

HEAD_BYTES_MAX = 64 * 1024
"""Largest request line and headers together; checked per piece that comes in, so it may be exceeded by one piece."""

HEAD_S = 30.0
"""Longest wait for a whole head, also for the first byte of a connection."""


_EXTENSIONS: dict[str, dict[object, object]] = {WHOLE: {}}


class BoundedHttp(HttpToolsProtocol):
    """
    uvicorn's protocol over httptools, with bounded heads: one too large is 400, one too late is cut off.
    """

    _in_head = False
    _head_bytes = 0
    _idle_since: float | None = None
    _head_timer: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._behind_proxy = self.app
        if isinstance(self.app, ProxyHeadersMiddleware):
            self.app = self.app.app

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """
        Begin to wait for the first head.
        """
        super().connection_made(transport)
        self._outbox = outbox_of(self.loop)
        self._await_head()

    def on_message_begin(self) -> None:
        """
        Begin to wait for the rest of a head.
        """
        super().on_message_begin()
        self._in_head = True

    def on_headers_complete(self) -> None:
        """
        Wait no more.
        """
        self._in_head = False
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """
        Likewise.
        """
        self._have_head()
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
            self.timeout_keep_alive_task = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """
        Take a piece, unless the head has grown too large by it.
        """
        self._outbox.flush()  # this may be answered at once
        super().data_received(data)
        if not self._in_head:
            if self._head_timer is not None:
                self._have_head()
            return
        # Nearly every head comes in one piece, and needs no timer.
        if self._head_timer is None:
            self._await_head()
        self._head_bytes += len(data)
        if self._head_bytes > HEAD_BYTES_MAX:
            self._have_head()
            self.send_400_response("The head of the request is too large.")

    def shutdown(self) -> None:
        """
        Begin the end, after what was answered already.
        """
        self._outbox.flush()
        super().shutdown()

    def on_response_complete(self) -> None:
        """
        Go on with what came meanwhile, or begin to wait for the next request.
        """
        # As in uvicorn, but for the timer: that one is not set anew for each answer.
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
            return
        self._idle_since = time.monotonic()
        if self.timeout_keep_alive_task is None:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def timeout_keep_alive_handler(self) -> None:
        """
        Close the connection if it has been idle for long enough, else look again when it may have been.
        """
        self.timeout_keep_alive_task = None
        if self._idle_since is None:
            return
        left_s = self._idle_since + self.timeout_keep_alive - time.monotonic()
        if left_s > 0:
            self.timeout_keep_alive_task = self.loop.call_later(left_s, self.timeout_keep_alive_handler)
        else:
            super().timeout_keep_alive_handler()

    def _unset_keepalive_if_required(self) -> None:
        self._idle_since = None

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        # uvicorn makes the cycle itself; ours differs in how it sends.
        cycle.__class__ = Cycle
        cycle.outbox = self._outbox  # type: ignore[attr-defined]
        cycle.scope["extensions"] = _EXTENSIONS
        for name, _ in cycle.scope["headers"]:
            if name.startswith(b"x-forwarded-") and app is self.app:
                app = self._behind_proxy
        super()._start_asgi_task(cycle, app)

    def _await_head(self) -> None:
        self._have_head()
        self._head_timer = self.loop.call_later(HEAD_S, self._too_late)

    def _have_head(self) -> None:
        self._head_bytes = 0
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _too_late(self) -> None:
        self._head_timer = None
        self._outbox.flush()
        self.transport.close()
