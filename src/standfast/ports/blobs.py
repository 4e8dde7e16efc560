"""
The blobs port: bytes kept by their digest, for evidence too large for a record.
"""

from __future__ import annotations

from typing import Protocol


class Blobs(Protocol):
    """
    Content-addressed bytes; putting the same twice keeps one.
    """

    async def put(self, data: bytes) -> str:
        """
        Keep `data` durably and return its name, `sha256:` and 64 hex digits.

        Raises:
            Unavailable: Not kept; nothing half-written will ever be returned by `get`.
        """
        ...

    async def get(self, digest: str) -> bytes:
        """
        The bytes of that name, checked against it.

        Raises:
            NotFound: Nothing of that name. Unavailable: It could not be read, or what was read does not fit the name.
        """
        ...

    async def remove(self, digest: str) -> None:
        """
        Forget the bytes; unknown names are fine.
        """
        ...
