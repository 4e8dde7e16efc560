"""
The ticket: one file of four lines that is claim, lock, identity and exit record of one attempt at once.

Belongs here: the records, and `parse` / `render` between them and bytes; pure. Does not belong here: opening files,
or what a combination of lines and lock means (`observe.py`). The keeper renders the same lines without this module; a
test holds the two equal.

Shape: 4096 bytes = 4 lines of 1024 (JSON, padded with spaces, newline): claim, started, ended, gone. The lines are
allocated blank, so later records overwrite blocks that exist already. A line that does not parse was not written.
Times: `wall` is seconds since 1970, `boottime` seconds since boot with suspend included.
"""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec

LINE_BYTES = 1024
LINES = 4
TICKET_BYTES = LINES * LINE_BYTES
HANDLE = re.compile(r"[a-z0-9-]{1,100}")


class TicketDamaged(Exception):
    """
    The first line, durable before the name existed, does not parse: the disk lies, and nothing may be concluded.
    """


class Claim(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """
    Somebody owns the handle for ever; void: nobody will ever run it.

    boot: boot id. pidns: inode of the pid namespace and start time of its first process. pid, start: of the spare
    keeper, start in clock ticks since boot.
    """

    v: int
    handle: str
    digest: str
    void: bool
    boot: str
    pidns: str
    pid: int
    start: int
    uid: int
    wall: float
    boottime: float


class OomKills(msgspec.Struct, frozen=True, gc=False):
    """
    The kernel's counts of processes killed for memory, machine-wide and in the keeper's cgroup; None: not told.
    """

    machine: int | None = None
    cgroup: int | None = None


class Asked(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """
    The first request to stop that reached a keeper; sender: its pid, 0 from another pid namespace.
    """

    signal: int
    sender: int
    wall: float
    boottime: float


class Started(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """
    The job process exists and is about to be released; logs: (device, inode) of stdout and stderr.
    """

    main: int
    main_start: int
    worker: int
    worker_start: int
    logs: tuple[tuple[int, int], tuple[int, int]]
    oom: OomKills
    wall: float
    boottime: float


class Exited(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="exited"):
    """
    The main process ended by itself with this code, 0..255; 126, 127 and 137 are its own words.
    """

    code: int


class Signaled(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="signaled"):
    """
    The main process was ended by this signal.
    """

    signal: int


class Dumped(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="dumped"):
    """
    The main process was ended by this signal and left a core.
    """

    signal: int


class ExecFailed(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="exec_failed"):
    """
    The command could not be run: at which stage, and errno. Nothing of it ran.
    """

    stage: str
    errno: int


class NeverRan(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="never_ran"):
    """
    The handle is spent, but the job process was never released. Nothing ran.
    """

    reason: str


Status = Exited | Signaled | Dumped | ExecFailed | NeverRan


class Ended(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """
    How the main process ended; asked: the request to stop, if it had been passed on before. by: which keeper.
    """

    status: Status
    asked: Asked | None
    by: str
    oom: OomKills
    wall: float
    boottime: float


class Gone(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """
    No process of the attempt is alive; stragglers: how many outlived the main one and were told to go.

    user_s, system_s, max_rss_kib: of all processes together; max_rss_kib starts at the keeper's own size.
    """

    stragglers: int
    user_s: float
    system_s: float
    max_rss_kib: int
    asked: Asked | None
    by: str
    oom: OomKills
    wall: float
    boottime: float


class Ticket(msgspec.Struct, frozen=True, gc=False):
    """
    The four lines; None: not written, or torn, which is the same.
    """

    claim: Claim
    started: Started | None = None
    ended: Ended | None = None
    gone: Gone | None = None


def _line(data: bytes, index: int) -> bytes:
    return data[index * LINE_BYTES : (index + 1) * LINE_BYTES].strip(b" \n")


_CLAIM = msgspec.json.Decoder(Claim)
_STARTED = msgspec.json.Decoder(Started)
_ENDED = msgspec.json.Decoder(Ended)
_GONE = msgspec.json.Decoder(Gone)
_T = TypeVar("_T")


def _optional(decoder: msgspec.json.Decoder[_T], data: bytes, index: int) -> _T | None:
    text = _line(data, index)
    if not text:
        return None
    try:
        return decoder.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def parse(data: bytes) -> Ticket:
    """
    Read a ticket, each line by itself.

    Raises:
        TicketDamaged: The claim does not parse; callers decide nothing.
    """
    try:
        claim = _CLAIM.decode(_line(data, 0))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TicketDamaged(str(error)) from error
    return Ticket(claim, _optional(_STARTED, data, 1), _optional(_ENDED, data, 2), _optional(_GONE, data, 3))


def render(ticket: Ticket) -> bytes:
    """
    All 4096 bytes of a ticket; `parse` of it is equal to it.

    Raises:
        ValueError: A record does not fit its line.
    """
    records = (ticket.claim, ticket.started, ticket.ended, ticket.gone)
    return b"".join(_padded(b"" if record is None else msgspec.json.encode(record)) for record in records)


def _padded(text: bytes) -> bytes:
    if len(text) >= LINE_BYTES:
        raise ValueError(f"record of {len(text)} bytes does not fit a line of {LINE_BYTES}")
    return text.ljust(LINE_BYTES - 1) + b"\n"
