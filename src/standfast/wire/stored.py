"""
The stored format: JSON with a version beside it, so that yesterday's rows can be read tomorrow.

Belongs here: encoding, decoding, and one upcaster per version that ever was. A field may be added with a default
without a new version; anything else raises it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from standfast.core.job import events as e
from standfast.core.job.state import Job

VERSION = 1
"""Of the jobs and events written today."""

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]

JOB_UPCASTERS: Mapping[int, Upcaster] = {}
EVENT_UPCASTERS: Mapping[int, Upcaster] = {}
"""From version n to n + 1, over the plain JSON."""

_encoder = msgspec.json.Encoder()
_jobs = msgspec.json.Decoder(Job)
_events = msgspec.json.Decoder(e.Event)


class UnreadableRecord(ValueError):
    """
    The bytes are not a record of the version they claim; they are left as they are.
    """


def encode_job(job: Job) -> bytes:
    """
    The job as JSON of the current version.
    """
    return _encoder.encode(job)


def decode_job(data: bytes | str, version: int = VERSION) -> Job:
    """
    The job that was encoded under `version`.

    Raises:
        UnreadableRecord: Broken bytes, or a version newer than ours.
    """
    try:
        if version == VERSION:
            return _jobs.decode(data)
        return msgspec.convert(_lifted(data, version, JOB_UPCASTERS), Job)
    except msgspec.MsgspecError as error:
        raise UnreadableRecord(f"job record of version {version}: {error}") from error


def encode_event(event: e.Event) -> bytes:
    """
    What is kept of the event, as JSON.
    """
    return _encoder.encode(e.kept(event))


def decode_event(data: bytes | str, version: int = VERSION) -> e.Event:
    """
    The event that was encoded under `version`.

    Raises:
        UnreadableRecord: Broken bytes, or a version newer than ours.
    """
    try:
        if version == VERSION:
            return _events.decode(data)
        return msgspec.convert(_lifted(data, version, EVENT_UPCASTERS), e.Event)  # type: ignore[no-any-return]
    except msgspec.MsgspecError as error:
        raise UnreadableRecord(f"event record of version {version}: {error}") from error


def _lifted(data: bytes | str, version: int, upcasters: Mapping[int, Upcaster]) -> dict[str, Any]:
    """
    The plain JSON, raised one version at a time to the current one.
    """
    if version > VERSION:
        raise UnreadableRecord(f"version {version} is newer than this program's {VERSION}")
    document = msgspec.json.decode(data, type=dict[str, Any])
    for step in range(version, VERSION):
        document = upcasters[step](document)
    return document
