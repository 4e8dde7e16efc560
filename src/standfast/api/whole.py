"""
Answers that go out in one piece: head and body in one write, without the checks of what we write ourselves.

Belongs here: uvicorn's cycle of one request, with a message of our own. Not here: what is answered (`sending`), when
it is written (`outbox`), the bounds of what comes in (`head`). uvicorn alone writes twice, and looks through each
header for what could break it; see docs/internals/decisions/0016-answers-in-one-write.md.
"""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from standfast.api.outbox import Outbox

WHOLE = "standfast.whole"
"""
The ASGI extension: `http.response.start` with a `body` is the whole answer. Header names are in lower case, neither
names nor values hold what may not stand there, and `content-length` is among them, and right.
"""


class Cycle(RequestResponseCycle):
    """
    uvicorn's, which also takes whole answers.
    """

    outbox: Outbox

    async def send(self, message: Any) -> None:
        """
        Write the message; a whole answer at once, unless the connection is full.
        """
        if "body" not in message or message["type"] != "http.response.start":
            await super().send(message)
            return
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        if self.response_started:
            raise RuntimeError("an answer has begun already")
        parts = [STATUS_LINE[message["status"]]]
        for name, value in self.default_headers:
            parts += name, b": ", value, b"\r\n"
        for name, value in message["headers"]:
            parts += name, b": ", value, b"\r\n"
        parts.append(b"\r\n" if self.keep_alive else b"connection: close\r\n\r\n")
        if self.scope["method"] != "HEAD":
            parts.append(message["body"])
        self.outbox.put(self.transport, b"".join(parts), last=not self.keep_alive)
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        self.message_event.set()
        self.on_response()
