"""
Evidence too long for a record is kept whole, and goes with its job.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from runtime_bench import Bench

from standfast.core.errors import NotFound, Unavailable
from standfast.core.job.evidence import RAW_CHARS_MAX
from standfast.core.job.observation import Ended

LONG = "x" * 5000 + " the end"


def _talkative(plane: Bench) -> None:
    """
    Make the fake engine's ends carry a long source.
    """
    real = plane.engine.look

    async def look(handles: Any) -> Any:
        seen = dict(await real(handles))
        for handle, one in seen.items():
            if isinstance(one, Ended):
                long = tuple(msgspec.structs.replace(finding, raw=LONG) for finding in one.findings[:1])
                seen[handle] = msgspec.structs.replace(one, findings=long + one.findings[1:])
        return seen

    plane.engine.look = look  # type: ignore[method-assign]


async def test_a_long_source_is_kept_whole_beside_its_excerpt(plane: Bench) -> None:
    """
    The record holds the end of it and the name of the blob; the blob holds all of it and says what it is of.
    """
    _talkative(plane)

    job = await plane.final(await plane.submit(program={"run_s": 0.05}))

    (kept,) = [one for one in job.attempt.evidence if one.blob is not None]
    assert kept.raw is not None and len(kept.raw) == RAW_CHARS_MAX and kept.raw.endswith("the end")
    whole = (await plane.world.blobs.get(kept.blob or "")).decode()
    assert whole.startswith(job.attempt.handle) and whole.endswith(LONG)
    await plane.intake.delete(job.uid)
    with pytest.raises(NotFound):
        await plane.world.blobs.get(kept.blob or "")


async def test_a_blob_that_cannot_be_kept_costs_only_the_rest_of_the_text(plane: Bench) -> None:
    """
    A disk that takes no evidence does not hold up the verdict.
    """

    async def put(data: bytes) -> str:
        raise Unavailable("the disk is full", code="store_full")

    _talkative(plane)
    plane.world.blobs.put = put  # type: ignore[method-assign]

    job = await plane.final(await plane.submit(program={"run_s": 0.05}))

    assert job.phase == "succeeded"
    assert all(one.blob is None and len(one.raw or "") <= RAW_CHARS_MAX for one in job.attempt.evidence)
