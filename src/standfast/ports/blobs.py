"""
The blobs port: bytes kept by their digest, for evidence too large for a record.
"""

from __future__ import annotations

from typing import Protocol

import msgspec


class Kept(msgspec.Struct, frozen=True):
    """
    One name that has bytes. put: another number after each put of them, and of no meaning but that.
    """

    digest: str
    put: int


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

    async def page(self, *, after: str = "", limit: int) -> list[Kept]:
        """
        At most `limit` of the names behind `after`, in their order; fewer only at the end.

        What is put or removed meanwhile may be in it or not.

        Raises:
            Unavailable: They could not be listed.
        """
        ...

    async def remove(self, digest: str, *, put: int | None = None) -> bool:
        """
        Forget the bytes; unknown names are fine. False if nothing was removed.

        put: only if they were not put again since `page` told that number. Then either the bytes stay, or a put that
        came at the same time keeps them anew.
        """
        ...
