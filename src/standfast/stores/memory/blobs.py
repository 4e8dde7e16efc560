"""
`MemoryBlobs`: bytes by their digest in a dictionary.
"""

from __future__ import annotations

import hashlib

from standfast.core.errors import NotFound


class MemoryBlobs:
    """
    Blobs in this process's memory.
    """

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    async def put(self, data: bytes) -> str:
        """
        As the port says.
        """
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        self._kept[digest] = bytes(data)
        return digest

    async def get(self, digest: str) -> bytes:
        """
        As the port says.
        """
        if digest not in self._kept:
            raise NotFound(f"there are no bytes kept as {digest}", code="blob_not_found")
        return self._kept[digest]

    async def remove(self, digest: str) -> None:
        """
        As the port says.
        """
        self._kept.pop(digest, None)
