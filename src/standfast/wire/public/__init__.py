"""
REST v1: what goes over the wire to people and programs outside, and how it is made from the core.

Belongs here: shapes of requests and answers, pure conversions. Not here: HTTP, or anything the core does not know.
"""

from __future__ import annotations

from standfast.wire.public.answers import (
    AttemptAnswer,
    AttemptRef,
    Attempts,
    BatchAnswer,
    BatchItem,
    Check,
    Count,
    Counts,
    Doctor,
    EngineAnswer,
    Engines,
    EventAnswer,
    EventPage,
    EvidenceAnswer,
    EvidenceList,
    Explanation,
    JobAnswer,
    JobPage,
    PartialJobPage,
    PlanAnswer,
)
from standfast.wire.public.conversions import (
    evidence_of,
    to_attempt,
    to_counts,
    to_event,
    to_evidence,
    to_explanation,
    to_job,
    to_text,
)
from standfast.wire.public.requests import (
    BatchBody,
    ReasonBody,
    ResolveBody,
    RetryBody,
    SubmitBody,
)

__all__ = [
    "AttemptAnswer",
    "AttemptRef",
    "Attempts",
    "BatchAnswer",
    "BatchBody",
    "BatchItem",
    "Check",
    "Count",
    "Counts",
    "Doctor",
    "EngineAnswer",
    "Engines",
    "EventAnswer",
    "EventPage",
    "EvidenceAnswer",
    "EvidenceList",
    "Explanation",
    "JobAnswer",
    "JobPage",
    "PartialJobPage",
    "PlanAnswer",
    "ReasonBody",
    "ResolveBody",
    "RetryBody",
    "SubmitBody",
    "evidence_of",
    "to_attempt",
    "to_counts",
    "to_event",
    "to_evidence",
    "to_explanation",
    "to_job",
    "to_text",
]
