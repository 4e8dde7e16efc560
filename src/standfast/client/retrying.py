"""
When the same bytes are sent again: pure, so that the two transports cannot differ.

Belongs here: which failures say "perhaps it arrived", how long to pause, when to give up. Not here: sockets, sleeping.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import httpx2

from standfast.client.errors import ClientError, NoAnswer, Unavailable

CHANGE_FOR_S = 30.0
"""How long a change is repeated, from its first try on."""

READ_FOR_S = 3.0
"""How long a read is repeated; a person waits for it, and nothing is at stake."""

PAUSE_BASE_S = 0.1
PAUSE_CAP_S = 2.0

_NOTHING_LEFT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
"""Failures before a byte of the request left this machine."""


class Tries:
    """
    The tries of one request. `failed` is told of each failure, and returns the pause or raises what the caller gets.
    """

    def __init__(
        self, *, for_s: float, seed: str, request_id: str | None, server: str, told: Callable[[str], None]
    ) -> None:
        self._for_s = for_s
        self._told = told
        self._seed = seed
        self._request_id = request_id
        self._server = server
        self._last_told = ""
        self.count = 0
        self.sent = False

    def failed(self, error: httpx2.TransportError | ClientError, *, elapsed_s: float) -> float:
        """
        Seconds to pause before the same bytes go out again.

        Raises:
            NoAnswer: Nobody answered, and the time is over.
            ClientError: The answer itself, if repeating cannot help or the time is over.
        """
        self.count += 1
        pause_s = self._pause_s()
        if isinstance(error, ClientError):
            self.sent = True
            if not isinstance(error, Unavailable) or error.retry not in ("later", "same_request"):
                raise error
            pause_s = max(pause_s, error.retry_after_s or 0.0)
            if elapsed_s + pause_s > self._for_s:
                raise error
            self._tell(f"{self._server} cannot serve it now: {error.message} [{error.code}]")
            return pause_s
        if not isinstance(error, _NOTHING_LEFT):
            self.sent = True
        if elapsed_s + pause_s > self._for_s:
            raise self._no_answer(error, elapsed_s) from error
        nobody = isinstance(error, _NOTHING_LEFT)
        self._tell(f"cannot reach {self._server}" if nobody else f"no answer from {self._server}")
        return pause_s

    def _tell(self, what: str) -> None:
        """
        Say what keeps us waiting, from the second time on, and again only when it is something else.
        """
        if self.count >= 2 and what != self._last_told:
            self._last_told = what
            self._told(f"{what}; sending the same request again")

    def succeeded(self) -> None:
        """
        Somebody answered.
        """
        if self.count >= 2:
            self._told(f"{self._server} answers again")

    def _no_answer(self, error: httpx2.TransportError, elapsed_s: float) -> NoAnswer:
        what = str(error) or type(error).__name__
        if not self.sent:
            return NoAnswer(
                f"cannot reach {self._server}: {what}; nothing was sent",
                request_id=self._request_id,
                sent=False,
                hint="See whether the control plane runs, and whether the address is right.",
            )
        return NoAnswer(
            f"no answer from {self._server} in {elapsed_s:.0f}s ({self.count} tries): {what}",
            request_id=self._request_id,
            hint="It may have been accepted. Send the same again with this request id; that cannot do it twice."
            if self._request_id
            else "Ask again later.",
        )

    def _pause_s(self) -> float:
        """
        Doubling, with a jitter that follows from the request, so that a herd of clients spreads.
        """
        ceiling = min(PAUSE_CAP_S, PAUSE_BASE_S * 2.0 ** min(self.count - 1, 20))
        digest = hashlib.blake2b(f"{self._seed}/{self.count}".encode(), digest_size=4).digest()
        return ceiling * (0.5 + int.from_bytes(digest, "big") / (1 << 33))
