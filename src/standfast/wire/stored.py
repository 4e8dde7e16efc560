"""
The stored format: JSON with a version beside it, so that yesterday's rows can be read tomorrow.

Belongs here: the documents that stores keep beside their columns, encoding, decoding, and one upcaster per version that
ever was. A field may be added with a default without a new version; anything else raises it. Everything is stored once:
what a column says, or another record keeps unchanged for good, is in no document.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Generic, TypeVar, Union, get_args

import msgspec

from standfast.core.failure import Failure
from standfast.core.job import events as e
from standfast.core.job.attempt import Attempt, Stop, handle_of
from standfast.core.job.evidence import Evidence
from standfast.core.job.spec import Resources, Spec
from standfast.core.job.state import Uncertain

T = TypeVar("T")

VERSION = 1
"""Of every document written today."""

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]

UPCASTERS: Mapping[str, Mapping[int, Upcaster]] = {"origin": {}, "state": {}, "attempt": {}, "event": {}}
"""By kind of document, from version n to n + 1, over the plain JSON."""

_encoder = msgspec.json.Encoder()


class UnreadableRecord(ValueError):
    """
    The bytes are not a record of the version they claim; they are left as they are.
    """


class Origin(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """
    What of a job never changes, less what the columns have.
    """

    digest: str
    spec: Spec
    created_by: str
    labels: Mapping[str, str] = {}


class State(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """
    What of a job changes and is rarely there.
    """

    backoff_s: float | None = None
    uncertain: Uncertain | None = None
    because: str | None = None
    compute_removed_at: datetime | None = None
    logs_removed_at: datetime | None = None


class AttemptState(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """
    What of an attempt has no column.
    """

    resources: Resources = Resources()
    mitigation: str | None = None
    engine_note: str | None = None
    contact_lost_at: datetime | None = None
    contact_lost_because: str | None = None
    stop: Stop | None = None
    failure: Failure | None = None
    evidence: tuple[Evidence, ...] = ()


class Document(Generic[T]):
    """
    One kind of document: how it becomes JSON, and what it is read back as.
    """

    def __init__(self, kind: str, shape: Any) -> None:
        self._kind = kind
        self._shape = shape
        self._decode = msgspec.json.Decoder(shape).decode

    def encode(self, value: T) -> str:
        """
        The JSON of the current version.
        """
        return _encoder.encode(value).decode()

    def decode(self, data: str, version: int) -> T:
        """
        What was encoded under `version`.

        Raises:
            UnreadableRecord: Broken bytes, or a version newer than ours.
        """
        try:
            if version == VERSION:
                return self._decode(data)  # type: ignore[no-any-return]
            return msgspec.convert(self._lifted(data, version), self._shape)  # type: ignore[no-any-return]
        except msgspec.MsgspecError as error:
            raise UnreadableRecord(f"{self._kind} record of version {version}: {error}") from error

    def _lifted(self, data: str, version: int) -> dict[str, Any]:
        """
        The plain JSON, raised one version at a time to the current one.
        """
        if version > VERSION:
            raise UnreadableRecord(f"version {version} is newer than this program's {VERSION}")
        document = msgspec.json.decode(data, type=dict[str, Any])
        for step in range(version, VERSION):
            document = UPCASTERS[self._kind][step](document)
        return document


ORIGIN: Document[Origin] = Document("origin", Origin)
STATE: Document[State] = Document("state", State)
ATTEMPT: Document[AttemptState] = Document("attempt", AttemptState)


# --- events ----------------------------------------------------------------------------------------------------------


class _Submitted(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag="Submitted"):
    """
    `events.Submitted`, whose other fields are the job's own and never change.
    """

    by: str


class _LaunchBegun(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag="LaunchBegun"):
    """
    `events.LaunchBegun`, whose handle and times follow from the job, the number and the time of the event.
    """

    number: int
    incarnation: str
    resources: Resources = Resources()
    mitigation: str | None = None


_EVENT: Document[Any] = Document(
    "event",
    Union[
        (_Submitted, _LaunchBegun, *(kind for kind in get_args(e.Event) if kind not in (e.Submitted, e.LaunchBegun)))
    ],
)


def encode_event(event: e.Event) -> str:
    """
    What is kept of the event, as JSON.
    """
    if isinstance(event, e.Submitted):
        return _EVENT.encode(_Submitted(by=event.by))
    if isinstance(event, e.LaunchBegun):
        attempt = event.attempt
        begun = _LaunchBegun(
            number=attempt.number,
            incarnation=attempt.incarnation,
            resources=attempt.resources,
            mitigation=attempt.mitigation,
        )
        return _EVENT.encode(begun)
    return _EVENT.encode(e.kept(event))


def decode_event(
    data: str, version: int, *, uid: str, at: datetime, submitted: Callable[[str], e.Submitted]
) -> e.Event:
    """
    The event that was encoded under `version` for the job `uid`, and happened at `at`.

    submitted: the opening of that job by whoever is given, from the job's own record.

    Raises:
        UnreadableRecord: Broken bytes, or a version newer than ours.
    """
    found = _EVENT.decode(data, version)
    if isinstance(found, _Submitted):
        return submitted(found.by)
    if isinstance(found, _LaunchBegun):
        return e.LaunchBegun(
            attempt=Attempt(
                number=found.number,
                handle=handle_of(uid, found.number),
                incarnation=found.incarnation,
                begun_at=at,
                sent_at=at,
                resources=found.resources,
                mitigation=found.mitigation,
            )
        )
    return found  # type: ignore[no-any-return]
