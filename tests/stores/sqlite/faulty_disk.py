"""
A disk, as SQLite sees one, that fills up, breaks, or loses power on command.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

SECTOR_BYTES = 512


class FaultyDisk(apsw.VFS):
    """
    Passes everything on to the real disk, and notes what is not yet flushed.

    write_error, sync_error: raised instead of every write or flush of the log, while set. before_sync: called before
    each flush of any file.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.images: dict[str, Image] = {}
        self.write_error: Callable[[], Exception] | None = None
        self.sync_error: Callable[[], Exception] | None = None
        self.before_sync: Callable[[], None] = lambda: None
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: list[int]) -> File:  # noqa: N802
        """
        For SQLite.
        """
        return File(self, name, flags)

    def xDelete(self, path: str, sync_folder: bool) -> None:  # noqa: N802
        """
        For SQLite.
        """
        super().xDelete(path, sync_folder)
        self.images.pop(path, None)

    def after_power_loss(self, folder: Path, dice: random.Random) -> None:
        """
        Put into `folder` what a disk may hold that lost power now: all that was flushed, and any sectors of the rest.
        """
        for path, image in self.images.items():
            (folder / Path(path).name).write_bytes(image.torn(dice))


@dataclass
class Image:
    """
    One file. flushed: content as of the last flush. waiting: (offset, bytes) written since, in order.
    """

    flushed: bytearray
    waiting: list[tuple[int, bytes]] = field(default_factory=list)

    def flush(self) -> None:
        """
        All of it is on the disk now.
        """
        for offset, data in self.waiting:
            _put(self.flushed, offset, data)
        self.waiting.clear()

    def cut(self, size: int) -> None:
        """
        The file was cut to `size`; on the disk at once.
        """
        del self.flushed[size:]
        self.waiting = [(offset, data[: size - offset]) for offset, data in self.waiting if offset < size]

    def torn(self, dice: random.Random) -> bytearray:
        """
        What was flushed, and each sector written since only if the dice say so.
        """
        content = bytearray(self.flushed)
        for offset, data in self.waiting:
            for at in range(0, len(data), SECTOR_BYTES):
                if dice.random() < 0.5:
                    _put(content, offset + at, data[at : at + SECTOR_BYTES])
        return content


class File(apsw.VFSFile):
    """
    One open file of a `FaultyDisk`.
    """

    def __init__(self, disk: FaultyDisk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        self._is_log = bool(flags[0] & apsw.SQLITE_OPEN_WAL)
        super().__init__("", name, flags)
        self._image = disk.images.setdefault(path, Image(bytearray(Path(path).read_bytes())))

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        """
        For SQLite.
        """
        if self._is_log and self._disk.write_error is not None:
            raise self._disk.write_error()
        super().xWrite(data, offset)
        self._image.waiting.append((offset, bytes(data)))

    def xTruncate(self, size: int) -> None:  # noqa: N802
        """
        For SQLite.
        """
        super().xTruncate(size)
        self._image.cut(size)

    def xSync(self, flags: int) -> None:  # noqa: N802
        """
        For SQLite.
        """
        if self._is_log and self._disk.sync_error is not None:
            raise self._disk.sync_error()
        self._disk.before_sync()
        super().xSync(flags)
        self._image.flush()


def _put(content: bytearray, offset: int, data: bytes) -> None:
    end = offset + len(data)
    content.extend(bytes(max(0, end - len(content))))
    content[offset:end] = data
