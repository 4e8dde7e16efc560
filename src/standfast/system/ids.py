"""
Fresh identities from the machine's clock and generator.
"""

from __future__ import annotations

import secrets
import time

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = tuple(first + second for first in _DIGITS for second in _DIGITS)


def base32(number: int, length: int) -> str:
    """
    `number` in Crockford's base 32, lower case, `length` digits (an even number), most significant first.
    """
    return "".join([_PAIRS[number >> shift & 1023] for shift in range(length * 5 - 10, -1, -10)])


class SystemIds:
    """
    Time-ordered uids (48 bits of milliseconds, 80 of randomness that counts up within one millisecond).

    Source of the layout: the ULID specification, "Monotonicity".
    """

    def __init__(self) -> None:
        self._last_ms = 0
        self._head = ""
        self._tail = 0

    def job_uid(self) -> str:
        """
        `job_` and 26 digits; strictly growing within this process, also if the clock is set back.
        """
        now_ms = time.time_ns() // 1_000_000
        if now_ms > self._last_ms:
            self._last_ms = now_ms
            self._head = "job_" + base32(now_ms, 10)
            self._tail = secrets.randbits(79)
        else:
            self._tail += 1 + secrets.randbits(16)
        return self._head + base32(self._tail, 16)

    def request_id(self) -> str:
        """
        32 hex digits.
        """
        return secrets.token_hex(16)

    def secret(self) -> str:
        """
        43 characters, 256 bits.
        """
        return secrets.token_urlsafe(32)
