"""
What every source of identities must do: one case per fact, each over two sources as two processes would have.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from standfast.core.job.attempt import handle_of, uid_and_number
from standfast.ports.ids import Ids

Case = Callable[[Callable[[], Ids]], Awaitable[None]]
CASES: list[Case] = []
"""All cases."""

MANY = 20_000


def _case(case: Case) -> Case:
    CASES.append(case)
    return case


@_case
async def uids_have_their_shape(make: Callable[[], Ids]) -> None:
    """
    `job_` and 26 of Crockford's base 32, and a handle made from one leads back to it.
    """
    uid = make().job_uid()
    assert re.fullmatch("job_[0-9abcdefghjkmnpqrstvwxyz]{26}", uid)
    assert uid_and_number(handle_of(uid, 7)) == (uid, 7)


@_case
async def uids_grow(make: Callable[[], Ids]) -> None:
    """
    Later uids of one source sort after earlier ones, also within a millisecond, and none comes twice.
    """
    ids = make()
    given = [ids.job_uid() for _ in range(MANY)]
    assert given == sorted(set(given))


@_case
async def two_sources_never_agree(make: Callable[[], Ids]) -> None:
    """
    Two sources at the same time give different uids, request ids and secrets.
    """
    one, two = make(), make()
    for mine, theirs in ((one.job_uid, two.job_uid), (one.request_id, two.request_id), (one.secret, two.secret)):
        assert not {mine() for _ in range(1000)} & {theirs() for _ in range(1000)}


@_case
async def request_ids_are_acceptable(make: Callable[[], Ids]) -> None:
    """
    A request id is 1..255 printable characters, as callers' own must be.
    """
    request_id = make().request_id()
    assert 1 <= len(request_id) <= 255 and request_id.isprintable()


@_case
async def secrets_are_long_enough(make: Callable[[], Ids]) -> None:
    """
    A secret has at least 43 characters of base 64, which hold 256 bits, and fits into a header.
    """
    secret = make().secret()
    assert len(secret) >= 43 and re.fullmatch(r"[A-Za-z0-9_.~-]+", secret)
