"""
`FileBlobs`: bytes by their digest as files beside the database.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Lock

from standfast.core.errors import NotFound, Unavailable
from standfast.ports.blobs import Kept
from standfast.stores.sqlite.file import sync_folder

_NAME = re.compile(r"sha256:([0-9a-f]{64})")
_DIGITS = re.compile(r"[0-9a-f]{64}")
_PART = re.compile(r"[0-9a-f]{2}")


class FileBlobs:
    """
    One file per blob at `<folder>/<first two digits>/<64 hex digits>`; made when the first is put. One process.

    A file is written under another name, flushed and renamed, so under its own name it is whole or not there. The time
    of its last put is its time of modification, which is compared for being the same and nothing else: clocks are set.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Held for single calls to the file system: between seeing that a file was not put again and removing it,
        # nobody puts it; and whatever is unfinished is in the set or from an earlier process.
        self._lock = Lock()
        self._unfinished: set[str] = set()

    async def put(self, data: bytes) -> str:
        """
        As the port says; a file that no longer fits its name is replaced.
        """
        digits = hashlib.sha256(data).hexdigest()
        try:
            await asyncio.to_thread(self._write, self._path(digits), data)
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

    async def page(self, *, after: str = "", limit: int) -> list[Kept]:
        """
        As the port says; what a put of an earlier process never finished is dropped on the way.
        """
        try:
            return await asyncio.to_thread(self._listed, after.removeprefix("sha256:"), limit)
        except OSError as error:
            raise Unavailable(f"the blobs could not be listed: {error}", code="blob_unreadable") from error

    async def remove(self, digest: str, *, put: int | None = None) -> bool:
        """
        As the port says.
        """
        match = _NAME.fullmatch(digest)
        return match is not None and await asyncio.to_thread(self._unlink, self._path(match[1]), put)

    def _path(self, digits: str) -> Path:
        return self._folder / digits[:2] / digits

    def _write(self, path: Path, data: bytes) -> None:
        if self._put_again(path) and path.read_bytes() == data:
            return
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        sync_folder(path.parent.parent)
        with self._lock:
            descriptor, unfinished = tempfile.mkstemp(prefix=".", dir=path.parent)
            self._unfinished.add(unfinished)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            with self._lock:
                Path(unfinished).rename(path)
        except BaseException:
            Path(unfinished).unlink(missing_ok=True)
            raise
        finally:
            self._unfinished.discard(unfinished)
        sync_folder(path.parent)

    def _put_again(self, path: Path) -> bool:
        """
        Date a file that is there anew, and in any case otherwise: the kernel's own dates are some milliseconds apart.
        """
        try:
            with self._lock:
                before = path.stat().st_mtime_ns
                os.utime(path)
                if path.stat().st_mtime_ns == before:
                    os.utime(path, ns=(before + 1, before + 1))
        except FileNotFoundError:
            return False
        return True

    def _unlink(self, path: Path, put: int | None) -> bool:
        try:
            with self._lock:
                if put not in (None, path.stat().st_mtime_ns):
                    return False
                path.unlink()
        except FileNotFoundError:
            return False
        return True

    def _listed(self, after: str, limit: int) -> list[Kept]:
        found: list[Kept] = []
        for path in self._files(after):
            try:
                found.append(Kept(f"sha256:{path.name}", path.stat().st_mtime_ns))
            except FileNotFoundError:
                continue
            if len(found) == limit:
                break
        return found

    def _files(self, after: str) -> Iterator[Path]:
        """
        The files behind that one, in the order of their names; one folder is read at a time.
        """
        folders = self._folder.iterdir() if self._folder.exists() else ()
        for folder in sorted(folder for folder in folders if _PART.fullmatch(folder.name) and folder.name >= after[:2]):
            with self._lock:
                paths = list(folder.iterdir())
                for path in paths:
                    if path.name.startswith(".") and str(path) not in self._unfinished:
                        path.unlink(missing_ok=True)
            yield from sorted(path for path in paths if _DIGITS.fullmatch(path.name) and path.name > after)
