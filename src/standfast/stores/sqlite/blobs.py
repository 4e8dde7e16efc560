"""
`FileBlobs`: bytes by their digest as files beside the database.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import tempfile
from pathlib import Path

from standfast.core.errors import NotFound, Unavailable
from standfast.stores.sqlite.file import sync_folder

_NAME = re.compile(r"sha256:([0-9a-f]{64})")


class FileBlobs:
    """
    One file per blob at `<folder>/<first two digits>/<64 hex digits>`; made when the first is put.

    A file is written under another name, flushed and renamed, so under its own name it is whole or not there.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def put(self, data: bytes) -> str:
        """
        As the port says; a file that no longer fits its name is replaced.
        """
        digits = hashlib.sha256(data).hexdigest()
        try:
            await asyncio.to_thread(_write, self._path(digits), data)
        except OSError as error:
            raise Unavailable(f"sha256:{digits} was not kept: {error}", code="blob_not_kept") from error
        return f"sha256:{digits}"

    async def get(self, digest: str) -> bytes:
        """
        As the port says.
        """
        match = _NAME.fullmatch(digest)
        try:
            data = await asyncio.to_thread(self._path(match[1]).read_bytes) if match else None
        except FileNotFoundError:
            data = None
        except OSError as error:
            raise Unavailable(f"{digest} could not be read: {error}", code="blob_unreadable") from error
        if match is None or data is None:
            raise NotFound(f"there are no bytes kept as {digest}", code="blob_not_found")
        if hashlib.sha256(data).hexdigest() != match[1]:
            raise Unavailable(f"what is kept as {digest} has changed on disk", code="blob_corrupt")
        return data

    async def remove(self, digest: str) -> None:
        """
        As the port says.
        """
        if match := _NAME.fullmatch(digest):
            self._path(match[1]).unlink(missing_ok=True)

    def _path(self, digits: str) -> Path:
        return self._folder / digits[:2] / digits


def _write(path: Path, data: bytes) -> None:
    if path.exists() and path.read_bytes() == data:
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    sync_folder(path.parent.parent)
    descriptor, unfinished = tempfile.mkstemp(prefix=".", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(unfinished).rename(path)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
