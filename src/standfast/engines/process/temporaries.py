"""
Temporary files of claims that never came to a link: harmless, but they take space.

Belongs here: finding and deleting them. Does not belong here: tickets and run directories, which go with their job.
"""

from __future__ import annotations

import fcntl
import os

from standfast.engines.process.root import Root

OLDER_THAN_S = 60.0


def drop_stale(root: Root, *, now_s: float, older_than_s: float = OLDER_THAN_S) -> int:
    """
    Delete what a keeper, or a void, left when it died before its link, or between link and unlink.

    A claim under way is a moment old and locked, so neither it nor a ticket is touched.

    Args:
        now_s: Seconds since 1970, the clock of the file system.
    Returns:
        How many were deleted.
    Raises:
        OSError: The folder cannot be read.
    """
    dropped = 0
    for path in root.tickets.iterdir():
        if path.suffix != ".tmp":
            continue
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            if now_s - os.fstat(fd).st_mtime < older_than_s:
                continue
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)
            dropped += 1
        except OSError:
            continue  # Locked: somebody is slow, or this is the second name of a ticket whose keeper lives.
        finally:
            os.close(fd)
    return dropped
