"""
What every blob store must do: one case per fact, each a coroutine over a fresh subject.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from standfast.core.errors import NotFound, StandfastError, Unavailable
from standfast.ports.blobs import Blobs


@dataclass(frozen=True)
class Subject:
    """
    Blobs to be judged, empty at first.

    open: an object over the same bytes each time. durable: they outlive it. spoil: change what is kept under a digest
    behind its back; None if nobody can.
    """

    open: Callable[[], Blobs]
    durable: bool
    spoil: Callable[[str], None] | None = None


Case = Callable[[Subject], Awaitable[None]]
CASES: list[Case] = []
"""All cases."""


def _case(case: Case) -> Case:
    CASES.append(case)
    return case


@_case
async def what_was_put_is_got_by_its_digest(subject: Subject) -> None:
    """
    The name is the SHA-256 of the bytes; empty and large ones too.
    """
    blobs = subject.open()
    for data in (b"", b"evidence", bytes(range(256)) * 8192):
        digest = await blobs.put(data)
        assert digest == "sha256:" + hashlib.sha256(data).hexdigest()
        assert await blobs.get(digest) == data


@_case
async def the_same_bytes_are_kept_once(subject: Subject) -> None:
    """
    Putting twice, also at once, gives one name; removing it once removes it.
    """
    blobs = subject.open()
    names = await asyncio.gather(*(blobs.put(b"same") for _ in range(8)))
    assert len(set(names)) == 1
    await blobs.remove(names[0])
    await _not_found(blobs, names[0])


@_case
async def unknown_names_are_not_found(subject: Subject) -> None:
    """
    A name that nothing has, or that is no name at all, is NotFound; removing it is fine.
    """
    blobs = subject.open()
    for digest in ("sha256:" + "0" * 64, "sha256:../../etc/passwd", "", "md5:00"):
        await _not_found(blobs, digest)
        await blobs.remove(digest)


@_case
async def bytes_outlive_the_object(subject: Subject) -> None:
    """
    Durable blobs are there for the next one who opens them.
    """
    if subject.durable:
        digest = await subject.open().put(b"kept")
        assert await subject.open().get(digest) == b"kept"


@_case
async def spoilt_bytes_are_never_given_out(subject: Subject) -> None:
    """
    What no longer fits its name is Unavailable, until the right bytes are put again.
    """
    if subject.spoil is None:
        return
    blobs = subject.open()
    digest = await blobs.put(b"true")
    subject.spoil(digest)
    assert isinstance(await _error_of(blobs.get(digest)), Unavailable)
    await blobs.put(b"true")
    assert await blobs.get(digest) == b"true"


@_case
async def pages_show_every_name_once(subject: Subject) -> None:
    """
    In the order of the names, each once, however small the pages; the last one is short.
    """
    blobs = subject.open()
    names = sorted([await blobs.put(str(n).encode()) for n in range(40)])
    found: list[str] = []
    while page := await blobs.page(after=found[-1] if found else "", limit=7):
        assert len(page) == 7 or len(found) + len(page) == len(names)
        found += [kept.digest for kept in page]
    assert found == names


@_case
async def nothing_is_listed_of_nothing(subject: Subject) -> None:
    """
    Before the first put and after the last removal there is no name.
    """
    blobs = subject.open()
    assert await blobs.page(limit=10) == []
    assert await blobs.remove(await blobs.put(b"brief"))
    assert await blobs.page(limit=10) == []


@_case
async def what_was_put_again_is_not_removed_for_what_it_was(subject: Subject) -> None:
    """
    A removal for the sake of an earlier put leaves the bytes, however soon the second came; one for the last removes.
    """
    blobs = subject.open()
    digest = await blobs.put(b"twice")
    (first,) = await blobs.page(limit=10)
    assert first == (await blobs.page(limit=10))[0]
    await blobs.put(b"twice")
    (second,) = await blobs.page(limit=10)
    assert second.put != first.put
    assert not await blobs.remove(digest, put=first.put)
    assert await blobs.get(digest) == b"twice"
    assert await blobs.remove(digest, put=second.put)
    assert not await blobs.remove(digest, put=second.put)
    await _not_found(blobs, digest)


@_case
async def a_put_at_the_time_of_a_removal_is_kept(subject: Subject) -> None:
    """
    Whichever of the two comes first, what was put is there in the end.
    """
    blobs = subject.open()
    for _ in range(50):
        digest = await blobs.put(b"contended")
        (kept,) = await blobs.page(limit=10)
        await asyncio.gather(blobs.put(b"contended"), blobs.remove(digest, put=kept.put))
        assert await blobs.get(digest) == b"contended"


async def _not_found(blobs: Blobs, digest: str) -> None:
    assert isinstance(await _error_of(blobs.get(digest)), NotFound)


async def _error_of(call: Awaitable[object]) -> StandfastError | None:
    """
    The error that the call ends with; None if it answers.
    """
    try:
        await call
    except StandfastError as error:
        return error
    return None
