"""
What a user asks for, engine apart: the part of a job that never changes after acceptance.

Belongs here: the spec's shape, its bounds, its canonical digest. Not here: what is inside `program`, which only the
named engine understands and checks.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec

from standfast.core.errors import FieldError
from standfast.core.failure import FailureClass, Rule
from standfast.core.failure.patterns import wrong as wrong_patterns
from standfast.core.retry import RetryPolicy

NAME = re.compile(r"[a-z0-9]([-a-z0-9._]{0,98}[a-z0-9])?")
"""Job names, namespaces and queues: lower case, at most 100 characters, so that they fit every engine's own names."""

PRIORITY_MAX = 1000
LABELS_MAX = 64
PROGRAM_BYTES_MAX = 2 * 1024 * 1024
SECONDS_MAX = 3_155_760_000
"""A hundred years: beyond any wait that is meant, and still a date when added to one."""

MEMORY_FACTOR_MAX = 1000
RULES_MAX = 64


class Resources(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """
    What an attempt asks of its engine: memory in MiB, CPUs in whole or part cores; None leaves it to the engine.
    """

    memory_mib: int | None = None
    cpus: float | None = None


class Ttl(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """
    Seconds after the end until each kind of remainder goes; None keeps it.

    compute: what the engine still holds for the attempts. logs: their output. record: the job itself, with all of it.
    """

    compute_s: float | None = None
    logs_s: float | None = None
    record_s: float | None = None


class Spec(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """
    One piece of work for one engine.

    engine: adapter name. program: the engine's own part. queue, priority (higher first, -1000..1000): whose turn it
    is. start_at: not before. suspend: accept, but wait for resume. deadline_s: longest run of one attempt by the
    engine's own times. start_deadline_s: longest wait of one attempt between its launch and its first sign of life.
    stop_grace_s: from the request to stop until force. receipt: `required` makes an end without a receipt a failure.
    exit_codes, failure_rules: the user's own classes, tried before the engine's.
    """

    engine: str = "process"
    program: Mapping[str, Any] = {}
    resources: Resources = Resources()
    queue: str = "default"
    priority: int = 0
    start_at: datetime | None = None
    suspend: bool = False
    deadline_s: float | None = None
    start_deadline_s: float | None = None
    stop_grace_s: float = 10.0
    retry: RetryPolicy = RetryPolicy()
    receipt: Literal["optional", "required"] = "optional"
    exit_codes: Mapping[str, FailureClass] = {}
    failure_rules: tuple[Rule, ...] = ()
    ttl: Ttl = Ttl()


def digest(value: object) -> str:
    """
    The same text for the same meaning: SHA-256 over JSON with sorted keys and defaults left out.
    """
    return "sha256:" + hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()


def check(spec: Spec, *, at: str = "/spec") -> list[FieldError]:
    """
    Every field out of bounds, with its JSON pointer below `at`; empty if the spec is sound.
    """
    wrong: list[FieldError] = []

    def refuse(pointer: str, message: str, code: str = "out_of_range") -> None:
        wrong.append(FieldError(at + pointer, code, message))

    if not NAME.fullmatch(spec.engine):
        refuse("/engine", "must be the name of an engine", "malformed")
    if not NAME.fullmatch(spec.queue):
        refuse("/queue", _NAME_RULE, "malformed")
    if abs(spec.priority) > PRIORITY_MAX:
        refuse("/priority", f"must be -{PRIORITY_MAX}..{PRIORITY_MAX}")
    if not _within(spec.deadline_s):
        refuse("/deadline_s", "must be more than 0 seconds, at most 100 years")
    if not _within(spec.start_deadline_s):
        refuse("/start_deadline_s", "must be more than 0 seconds, at most 100 years")
    if not 0 <= spec.stop_grace_s <= 86_400:
        refuse("/stop_grace_s", "must be 0..86400 seconds")
    if spec.start_at is not None:
        if spec.start_at.tzinfo is None:
            refuse("/start_at", "must name its UTC offset", "malformed")
        # A date at the end of the calendar is no longer one in UTC, or with a deadline added.
        if not 1900 < spec.start_at.year < 9000:
            refuse("/start_at", "must be in the years 1901..8999")
    if not _over(spec.resources.memory_mib, 0):
        refuse("/resources/memory_mib", "must be more than 0 MiB")
    if not _over(spec.resources.cpus, 0):
        refuse("/resources/cpus", "must be more than 0")
    # What is left as it is by most jobs is sound, and not gone through again for each.
    if spec.ttl is not _PLAIN.ttl:
        _check_ttl(spec.ttl, refuse)
    if spec.retry is not _PLAIN.retry:
        _check_retry(spec.retry, refuse)
    for code in spec.exit_codes:
        if code not in _EXIT_CODES:
            refuse(f"/exit_codes/{code}", "exit codes are 1..255, without leading zeros")
    if spec.failure_rules:
        if len(spec.failure_rules) > RULES_MAX:
            refuse("/failure_rules", f"at most {RULES_MAX} rules")
        for index, code, message in wrong_patterns([rule.text for rule in spec.failure_rules[:RULES_MAX]]):
            refuse(f"/failure_rules/{index}/text", message, code)
    if len(msgspec.json.encode(spec.program)) > PROGRAM_BYTES_MAX:
        refuse("/program", "is larger than 2 MiB", "too_large")
    return wrong


_PLAIN = Spec()


def _check_ttl(ttl: Ttl, refuse: Callable[[str, str], None]) -> None:
    for name in ttl.__struct_fields__:
        value = getattr(ttl, name)
        if value is not None and not 0 <= value <= SECONDS_MAX:
            refuse(f"/ttl/{name}", "must be 0 seconds to 100 years, or null")


def _check_retry(retry: RetryPolicy, refuse: Callable[[str, str], None]) -> None:
    if not 1 <= retry.max_attempts <= 100:
        refuse("/retry/max_attempts", "must be 1..100")
    if not 0 <= retry.backoff_base_s <= 86_400:
        refuse("/retry/backoff_base_s", "must be 0..86400 seconds")
    if not 0 <= retry.backoff_cap_s <= 604_800:
        refuse("/retry/backoff_cap_s", "must be 0..604800 seconds")
    for failure_class, mitigation in retry.mitigate.items():
        where = f"/retry/mitigate/{failure_class}"
        if not 1 < mitigation.memory_factor <= MEMORY_FACTOR_MAX:
            refuse(f"{where}/memory_factor", f"must be more than 1, at most {MEMORY_FACTOR_MAX}")
        if not _over(mitigation.memory_max_mib, 0):
            refuse(f"{where}/memory_max_mib", "must be more than 0 MiB")


_EXIT_CODES = frozenset(str(code) for code in range(1, 256))
_NAME_RULE = "must be 1..100 of a-z 0-9 - . _ and begin and end with a letter or digit"


def check_names(name: str, namespace: str, labels: Mapping[str, str]) -> list[FieldError]:
    """
    Every wrong name, namespace or label, with its JSON pointer.
    """
    wrong = [
        FieldError(pointer, "malformed", _NAME_RULE)
        for pointer, value in (("/name", name), ("/namespace", namespace))
        if not NAME.fullmatch(value)
    ]
    if len(labels) > LABELS_MAX:
        wrong.append(FieldError("/labels", "out_of_range", f"at most {LABELS_MAX} labels"))
    for key, value in labels.items():
        if not 1 <= len(key) <= 100 or "=" in key or "," in key or len(value) > 200 or "," in value:
            pointer = "/labels/" + key.replace("~", "~0").replace("/", "~1")
            wrong.append(
                FieldError(
                    pointer,
                    "malformed",
                    "keys are 1..100 characters without = and ,; values at most 200 without ,",
                )
            )
    return wrong


def _within(seconds: float | None) -> bool:
    return seconds is None or 0 < seconds <= SECONDS_MAX


def _over(value: float | None, least: float) -> bool:
    return value is None or value > least
