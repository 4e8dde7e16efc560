"""
`MemoryBlobs`: bytes by their digest in a dictionary.
"""

from __future__ import annotations

import hashlib
from itertools import count

from standfast.core.errors import NotFound
from standfast.ports.blobs import Kept


class MemoryBlobs:
    """
    Blobs in this process's memory.
    """

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}
        self._put: dict[str, int] = {}
        self._puts = count(1)

    async def put(self, data: bytes) -> str:
        """
        As the port says.
        """
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        self._kept[digest] = bytes(data)
        self._put[digest] = next(self._puts)
        return digest

    async def get(self, digest: str) -> bytes:
        """
        As the port says.
        """
        if digest not in self._kept:
            raise NotFound(f"there are no bytes kept as {digest}", code="blob_not_found")
        return self._kept[digest]

    async def page(self, *, after: str = "", limit: int) -> list[Kept]:
        """
        As the port says.
        """
        return [Kept(digest, self._put[digest]) for digest in sorted(self._kept) if digest > after][:limit]

    async def remove(self, digest: str, *, put: int | None = None) -> bool:
        """
        As the port says.
        """
        if digest not in self._kept or put not in (None, self._put[digest]):
            return False
        del self._kept[digest], self._put[digest]
        return True
