"""
Ask an attempt to stop; calling again is how one waits, and how one escalates.

Belongs here: whom to signal, safely. Does not belong here: waiting, and deciding when to give up. The keeper sends TERM
to the job, waits for the grace in the command, then kills until nothing is left; repeats never restart that grace.
"""

from __future__ import annotations

import signal
from typing import Literal

import msgspec

from standfast.engines.process import processes
from standfast.engines.process.observe import Absent, Seen, Unreachable, observe
from standfast.engines.process.root import Root, RootUnusable
from standfast.engines.process.void import Voided, void


class Over(msgspec.Struct, frozen=True, tag=True):
    """
    There is nothing to stop: the handle is void (seen None), or the attempt has ended; `seen.tree` says how surely.
    """

    seen: Seen | None


class Stopping(msgspec.Struct, frozen=True, tag=True):
    """
    Not over yet. told: who got the signal. signalled: pids. Empty: they are not ours to signal, or just went.

    told: keepers, or survivors where the keepers are lost; `nobody` where they live in another pid namespace.
    """

    seen: Seen
    told: Literal["keepers", "survivors", "nobody"]
    signalled: tuple[int, ...]


def stop(root: Root, handle: str, digest: str, *, at_once: bool = False) -> Over | Stopping | Unreachable:
    """
    Make sure that the handle ends: void it if it never began, else signal; idempotent, never blocks.

    Repeat every 5 s until Over. Orphans know no grace: they get TERM each time, and KILL when `at_once`.

    Args:
        digest: For the void's claim.
        at_once: No grace, and no more of it if one is running.
    """
    try:
        look = observe(root, handle)
        if isinstance(look, Absent) and not look.final:
            if isinstance(void(root, handle, digest), Voided):
                return Over(None)
            look = observe(root, handle)
    except RootUnusable as error:
        return Unreachable(error.code, str(error))
    except OSError as error:
        return Unreachable("not_writable", f"{handle}: {error.strerror}")
    match look:
        case Unreachable():
            return look
        case Absent():
            return Over(None)
        case Seen(state="ended"):
            return Over(look)
        case Seen(basis="lock_held"):
            return _tell_keepers(root, look, at_once=at_once)
    numbers = (signal.SIGKILL,) if at_once else (signal.SIGTERM, signal.SIGCONT)
    told = [s.process.pid for s in look.survivors if s.sure and _send(s.process, *numbers)]
    return Stopping(look, "survivors", tuple(told))


def living(seen: Seen) -> tuple[processes.Survivor, ...]:
    """
    The processes of an attempt that are alive now, with their states: what to show when a stop is not confirmed.

    Meaningful only in the pid namespace of its keepers.
    """
    if seen.basis != "lock_held" or seen.ticket is None:
        return seen.survivors
    claim, started = seen.ticket.claim, seen.ticket.started
    keepers = {claim.pid: claim.start}
    if started is not None:
        keepers[started.worker] = started.worker_start
    found = {pid: processes.read(pid) for pid in keepers}
    pair = [pid for pid, process in found.items() if process and process.start == keepers[pid]]
    return tuple(s for s in processes.below(pair) if s.process.pid not in keepers)


def _tell_keepers(root: Root, seen: Seen, *, at_once: bool) -> Stopping:
    """
    Both halves: the worker acts; the spare remembers, should it have to take over, and passes on what comes too early.

    With CONT: a keeper that somebody has stopped is frozen, not dead.
    """
    assert seen.ticket is not None
    if seen.ticket.claim.pidns != root.pidns:
        return Stopping(seen, "nobody", ())
    number = signal.SIGUSR1 if at_once else signal.SIGTERM
    pair = [(seen.ticket.claim.pid, seen.ticket.claim.start)]
    if seen.ticket.started is not None:
        pair.insert(0, (seen.ticket.started.worker, seen.ticket.started.worker_start))
    told = [pid for pid, start in pair if processes.send(pid, start, number, signal.SIGCONT)]
    return Stopping(seen, "keepers", tuple(told))


def _send(process: processes.Process, *numbers: signal.Signals) -> bool:
    return processes.send(process.pid, process.start, *numbers)
