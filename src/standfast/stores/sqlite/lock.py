"""
One process per file: a lock that the kernel lets go of when its holder dies, however it dies.

The lock file stays where it is for good: removing it would let two processes hold one each.
Source: flock(2), Linux man-pages 6.03. Not for network file systems, which may keep or share such locks.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from standfast.core.errors import Unavailable


class FileLock:
    """
    The lock beside a database file, with the holder's process id in it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """
        Take the lock at once or not at all.

        Raises:
            Unavailable: `store_held`, naming the process that holds it. OSError: The lock file cannot be written.
        """
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
            os.close(descriptor)
            raise Unavailable(
                f"{self._path.with_suffix('')} is held by process {holder or '(unknown)'}",
                code="store_held",
                hint="One control plane per store: stop the other one, or give this one its own folder.",
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        self._descriptor = descriptor

    def release(self) -> None:
        """
        Let go; fine if it is not held.
        """
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
