"""
The receipt: what an attempt itself wrote about its end, as `driver.py` or a job in any language leaves it.

Belongs here: reading and checking it. Does not belong here: how it ranks against other evidence.
"""

from __future__ import annotations

import os
from typing import Literal

import msgspec

from standfast.engines.process.root import Root

RECEIPT_BYTES_MAX = 64 * 1024


class Link(msgspec.Struct, frozen=True):
    """
    One exception of a chain, nearest first; condition and sqlstate are the engine's own, e.g. UNRESOLVED_COLUMN, 42703.
    """

    class_: str = msgspec.field(name="class")
    bases: tuple[str, ...] = ()
    message: str | None = None
    condition: str | None = None
    sqlstate: str | None = None


class Receipt(msgspec.Struct, frozen=True):
    """
    How the attempt says it ended; t: seconds since 1970; boottime: seconds since boot, comparable with the ticket.
    """

    v: Literal[1]
    attempt: str
    outcome: Literal["succeeded", "failed", "terminated"]
    t: float
    boottime: float | None = None
    by: str = ""
    exit: int | None = None
    at: str | None = None
    chain: tuple[Link, ...] = ()


class Ignored(msgspec.Struct, frozen=True):
    """
    There is a file, but it says nothing that counts; raw: its first 2,000 characters, kept as evidence.
    """

    reason: str
    raw: str


def read(root: Root, handle: str) -> Receipt | Ignored | None:
    """
    The receipt of one attempt; None when there is none.

    Raises:
        OSError: The file is there and cannot be read: nothing is known about it.
    """
    try:
        # A job may leave anything here, also a pipe: it must neither block us nor lead us away.
        fd = os.open(
            root.run_directory(handle) / "receipt.json",
            os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK,
        )
    except FileNotFoundError:
        return None
    try:
        data = os.read(fd, RECEIPT_BYTES_MAX + 1)
    finally:
        os.close(fd)
    if len(data) > RECEIPT_BYTES_MAX:
        return _ignored(f"longer than {RECEIPT_BYTES_MAX} bytes", data)
    try:
        receipt = _RECEIPT.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return _ignored(str(error), data)
    if receipt.attempt != handle:
        return _ignored(f"of another attempt: {receipt.attempt[:120]}", data)
    return receipt


def _ignored(reason: str, data: bytes) -> Ignored:
    return Ignored(reason, data[:2000].decode(errors="replace"))


_RECEIPT = msgspec.json.Decoder(Receipt)
