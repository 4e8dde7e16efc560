"""
Evidence that is too long for a record: kept whole in the blobs, with an excerpt and its name in the record.

Belongs here: what goes there, and when it goes with its job. Not here: where blobs are kept (adapters), and what a
crash left there (`unclaimed`).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import structlog

from standfast.core.errors import NotFound, Unavailable
from standfast.core.job.evidence import RAW_CHARS_MAX, Finding
from standfast.core.job.observation import Ended
from standfast.core.job.state import Job
from standfast.runtime.turn import Told
from standfast.runtime.world import World

log = structlog.get_logger(__name__)

OWNER_BYTES_MAX = 128
"""A handle is no longer."""


async def archived(world: World, told: Iterable[Told]) -> list[Told]:
    """
    The same inputs, with every overlong source put into the blobs before anything is committed that names it.

    A blob begins with the handle and the source it is of, so that no two attempts share one and it can go with its
    job. Blobs that are not to be had cost the rest of the text, never the verdict. Inputs that were archived before,
    and that the store did not take, have their blobs put again, so that nobody takes them for forgotten.
    """
    return [await _archived(world, one) for one in told]


async def forget_archive(world: World, job: Job) -> None:
    """
    Remove what was kept for the job; a name that is unknown by now is fine.
    """
    for attempt in job.attempts:
        for evidence in attempt.evidence:
            if evidence.blob is not None:
                await world.blobs.remove(evidence.blob)


def owner(blob: bytes) -> str:
    """
    The handle that the blob begins with; what is not from here begins with anything.
    """
    return blob[:OWNER_BYTES_MAX].partition(b" ")[0].decode(errors="replace")


async def _archived(world: World, one: Told) -> Told:
    given = one.given
    if not isinstance(given, Ended) or all(_short(finding) for finding in given.findings):
        return one
    findings = tuple([await _kept(world, one.handle or one.uid, finding) for finding in given.findings])
    return msgspec.structs.replace(one, given=msgspec.structs.replace(given, findings=findings))


def _short(finding: Finding) -> bool:
    return finding.blob is None and len(finding.raw or "") <= RAW_CHARS_MAX


async def _kept(world: World, handle: str, finding: Finding) -> Finding:
    if _short(finding):
        return finding
    raw, blob = finding.raw or "", finding.blob
    try:
        whole = await world.blobs.get(blob) if blob else f"{handle} {finding.source}\n\n{raw}".encode()
        blob = await world.blobs.put(whole)
    except NotFound:
        blob = None
    except Unavailable as error:
        log.warning("evidence_cut_short", handle=handle, source=finding.source, error=error.message)
    return msgspec.structs.replace(finding, raw=raw[-RAW_CHARS_MAX:], blob=blob)
