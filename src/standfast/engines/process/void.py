"""
Give a handle up: a claim that nobody will ever run.

Belongs here: the one atomic step that makes "absent, and will stay absent" true, even with a slow keeper still in
flight. Does not belong here: stopping something that runs (stop.py).
"""

from __future__ import annotations

import os
import time

import msgspec

from standfast.engines.process.processes import read
from standfast.engines.process.root import Root, sync_directory
from standfast.engines.process.ticket import HANDLE, Claim, Ticket, render


class Voided(msgspec.Struct, frozen=True, tag=True):
    """
    The handle is spent and nothing ran under it, durably.
    """


class Taken(msgspec.Struct, frozen=True, tag=True):
    """
    Somebody else linked first: observe.
    """


def void(root: Root, handle: str, digest: str) -> Voided | Taken:
    """
    Spend a handle without running anything; 0.5 ms, the same link as a launch: whoever is first wins.

    Raises:
        ValueError: handle is malformed.
        OSError: the disk refused; whether the handle is spent is told by the next look or the next try.
        RootUnusable: what lies at root's path is not this root.
    """
    if not HANDLE.fullmatch(handle):
        raise ValueError(f"not a handle: {handle!r}")
    root.check()
    me = read("self")
    claim = Claim(
        v=1,
        handle=handle,
        digest=digest,
        void=True,
        boot=root.boot,
        pidns=root.pidns,
        pid=os.getpid(),
        start=me.start if me else 0,
        uid=os.getuid(),
        wall=round(time.clock_gettime(time.CLOCK_REALTIME), 3),
        boottime=round(time.clock_gettime(time.CLOCK_BOOTTIME), 3),
    )
    temporary = root.tickets / f"{handle}.{os.getpid()}.{time.monotonic_ns()}.tmp"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, render(Ticket(claim)))
        os.fsync(fd)
        os.link(temporary, root.tickets / handle)
    except FileExistsError:
        return Taken()
    finally:
        os.close(fd)
        temporary.unlink(missing_ok=True)
    sync_directory(root.tickets)
    return Voided()
