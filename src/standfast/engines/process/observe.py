"""
Look at one attempt: what its ticket and its lock say together, and what is still alive of it.

Belongs here: the order of looking, the verdict table, the survivor search where the table asks for one. Does not belong
here: what an ending means for a job, receipts, and the words of the engine port.

The lock is looked at before the lines: a keeper that ends in between has then written all its lines, or is still
holding the lock. It was taken before the ticket had a name and is never taken again, so looking disturbs nobody.
"""

from __future__ import annotations

import fcntl
import os
from typing import Literal

import msgspec

from standfast.engines.process import processes
from standfast.engines.process.root import Root, RootUnusable
from standfast.engines.process.ticket import (
    TICKET_BYTES,
    NeverRan,
    Status,
    Ticket,
    TicketDamaged,
    parse,
)

State = Literal["starting", "running", "ending", "ended", "orphaned"]
Basis = Literal["lock_held", "gone", "never_released", "keepers_lost", "rebooted", "elsewhere"]
Tree = Literal["alive", "proven", "unknown"]


class Unreachable(msgspec.Struct, frozen=True, tag=True):
    """
    Nothing can be said, and so nothing is decided. code: a RootUnusable code, or ticket_damaged, ticket_unreadable.
    """

    code: str
    reason: str


class Absent(msgspec.Struct, frozen=True, tag=True):
    """
    No ticket; final: given up, nobody will ever run it. Otherwise so far: a keeper may be in flight.

    keepers: pids of keepers in flight, only where a search was asked for.
    """

    final: bool
    keepers: tuple[int, ...] = ()


class Seen(msgspec.Struct, frozen=True, tag=True):
    """
    The attempt has a ticket, or, with ticket None, lives on although its ticket was deleted.

    state: orphaned = alive, but nobody will record its exit. basis: what the state rests on; `elsewhere` = the keepers
    are dead, but lived in a pid namespace that cannot be seen from here: settled only by knowing that its container is
    gone. tree: whether all its processes are dead; `unknown` = none was found, which is no proof.
    """

    state: State
    basis: Basis
    tree: Tree
    ticket: Ticket | None
    survivors: tuple[processes.Survivor, ...] = ()

    @property
    def status(self) -> Status | None:
        """
        How the main process ended; None: not yet, or not known to anybody.
        """
        if self.ticket is not None and self.ticket.ended is not None:
            return self.ticket.ended.status
        return NeverRan("not_released") if self.basis == "never_released" else None


Look = Unreachable | Absent | Seen


def observe(root: Root, handle: str, *, search: bool = False) -> Look:
    """
    Say what is known about a handle now; some 45 µs, a scan of all processes only where keepers were lost.

    search: Also scan when there is no ticket: finds a run whose ticket was deleted, and keepers in flight. Meant for
    the replay of a launch.
    """
    try:
        root.check()
        found = _read(root, handle)
        if found is None:
            # Once more: a root that is being deleted loses its tickets first.
            root.check()
            return _without_ticket(root, handle) if search else Absent(final=False)
        held, data = found
        ticket = parse(data)
    except RootUnusable as error:
        return Unreachable(error.code, str(error))
    except TicketDamaged as error:
        return Unreachable("ticket_damaged", f"{handle}: {error}")
    except OSError as error:
        return Unreachable("ticket_unreadable", f"{handle}: {error.strerror}")
    if ticket.claim.handle != handle:
        return Unreachable("ticket_damaged", f"{handle}: its claim names {ticket.claim.handle}")
    if ticket.claim.void:
        return Absent(final=True)
    seen = judge(
        ticket,
        held=held,
        same_boot=ticket.claim.boot == root.boot,
        same_namespace=ticket.claim.pidns == root.pidns,
    )
    if seen.basis != "keepers_lost":
        return seen
    survivors = processes.search(root, handle, ticket.started).survivors
    if survivors:
        return Seen("orphaned", "keepers_lost", "alive", ticket, survivors)
    return seen


def judge(ticket: Ticket, *, held: bool, same_boot: bool, same_namespace: bool) -> Seen:
    """
    The verdict table, without the survivor search; pure.

    `keepers_lost` comes back as ended with an unknown tree: the caller searches.
    """
    if held:
        # Nobody but a keeper holds it, and it is dropped by the kernel with the last of the pair.
        state: State = "ending" if ticket.ended else "running" if ticket.started else "starting"
        return Seen(state, "lock_held", "alive", ticket)
    if ticket.gone:
        return Seen("ended", "gone", "proven", ticket)
    if not same_boot:
        # A claim alone does not mean "never ran" here: the line before go is not flushed.
        return Seen("ended", "rebooted", "proven", ticket)
    if not ticket.started and not ticket.ended:
        # Started is written before go, and the blocked child holds the lock until it has seen the end of go.
        return Seen("ended", "never_released", "proven", ticket)
    if not same_namespace:
        return Seen("ended", "elsewhere", "unknown", ticket)
    return Seen("ended", "keepers_lost", "unknown", ticket)


def _read(root: Root, handle: str) -> tuple[bool, bytes] | None:
    """
    (lock held, content) of a ticket, in that order; None when there is none; raises OSError.
    """
    try:
        fd = os.open(f"{root.path}/tickets/{handle}", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            held = False
        except BlockingIOError:
            held = True
        return held, os.pread(fd, TICKET_BYTES, 0)
    finally:
        os.close(fd)


def _without_ticket(root: Root, handle: str) -> Absent | Seen:
    found = processes.search(root, handle, None)
    if found.survivors:
        return Seen("orphaned", "keepers_lost", "alive", None, found.survivors)
    return Absent(final=False, keepers=found.keepers)
