"""
The output of an attempt: two files that the job writes itself, read by offset, bounded from the front.

Belongs here: reading bytes and giving space back. Does not belong here: text. Where a character ends is the API's
business, since a reader may ask again from any byte.
"""

from __future__ import annotations

import ctypes
import errno
import os
from typing import Literal

import msgspec

from standfast.engines.process.root import Root

Stream = Literal["stdout", "stderr"]

# Source: linux/falloc.h; fallocate(2): punching keeps offsets and size, the range reads as zeros and takes no space.
_KEEP_SIZE, _PUNCH_HOLE = 1, 2
_BLOCK_BYTES = 4096


class Chunk(msgspec.Struct, frozen=True):
    """
    Bytes of one stream: `data` begins at `offset`, which is past the offset asked for where a hole was punched.

    size: of the whole stream now. Whether more will come is told by a look at the attempt made *before* the read.
    """

    data: bytes
    offset: int
    size: int

    @property
    def next_offset(self) -> int:
        """
        Where to go on.
        """
        return self.offset + len(self.data)


def read(root: Root, handle: str, stream: Stream, offset: int, limit: int) -> Chunk | None:
    """
    At most `limit` bytes from `offset` on; None when there is no such file: never launched, or cleaned up.

    Raises:
        ValueError: offset is negative or limit is not positive.
        OSError: The file is there and cannot be read.
    """
    if offset < 0 or limit < 1:
        raise ValueError("offset must not be negative, limit must be positive")
    fd = _open(root, handle, stream, os.O_RDONLY)
    if fd is None:
        return None
    try:
        size = os.fstat(fd).st_size
        start = _first_kept(fd, offset) if offset < size else size
        return Chunk(os.pread(fd, limit, start) if start < size else b"", start, size)
    finally:
        os.close(fd)


def bound(root: Root, handle: str, stream: Stream, keep_bytes: int) -> int:
    """
    Give the space of all but about the last `keep_bytes` back; offsets and size stay as they are.

    Returns:
        Bytes punched, a multiple of 4096; 0 when there was nothing to do or the file system cannot.
    Raises:
        OSError: Anything but "cannot".
    """
    fd = _open(root, handle, stream, os.O_RDWR)
    if fd is None:
        return 0
    try:
        size = os.fstat(fd).st_size
        start = _first_kept(fd, 0) // _BLOCK_BYTES * _BLOCK_BYTES
        length = (size - keep_bytes) // _BLOCK_BYTES * _BLOCK_BYTES - start
        if length <= 0 or not _punch(fd, start, length):
            return 0
        return length
    finally:
        os.close(fd)


def _open(root: Root, handle: str, stream: Stream, flags: int) -> int | None:
    try:
        return os.open(root.run_directory(handle) / stream, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None


def _first_kept(fd: int, offset: int) -> int:
    """
    The first offset from `offset` on that holds data; the size when there is none.
    """
    try:
        return os.lseek(fd, offset, os.SEEK_DATA)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return os.fstat(fd).st_size
        raise


def _punch(fd: int, offset: int, length: int) -> bool:
    fallocate = ctypes.CDLL(None, use_errno=True).fallocate
    fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    if fallocate(fd, _PUNCH_HOLE | _KEEP_SIZE, offset, length) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EOPNOTSUPP, errno.ENOSYS):
        return False
    raise OSError(number, os.strerror(number))
