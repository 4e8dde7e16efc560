"""
The spec's bounds, each with its pointer, and its canonical digest.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from standfast.core.failure import FailureClass, Rule
from standfast.core.job.spec import PROGRAM_BYTES_MAX, Resources, Spec, Ttl, check, check_names, digest
from standfast.core.retry import Mitigation, RetryPolicy

OOM = FailureClass.OUT_OF_MEMORY
NAN = float("nan")
INF = float("inf")


def _retry(**fields: Any) -> dict[str, Any]:
    return {"retry": RetryPolicy(**fields)}


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"engine": ""}, "/spec/engine"),
    ({"engine": "Fake"}, "/spec/engine"),
    ({"queue": "a b"}, "/spec/queue"),
    ({"queue": "-a"}, "/spec/queue"),
    ({"queue": "x" * 101}, "/spec/queue"),
    ({"priority": 1001}, "/spec/priority"),
    ({"priority": -1001}, "/spec/priority"),
    ({"deadline_s": 0.0}, "/spec/deadline_s"),
    ({"deadline_s": -1.0}, "/spec/deadline_s"),
    ({"deadline_s": NAN}, "/spec/deadline_s"),
    ({"deadline_s": INF}, "/spec/deadline_s"),
    ({"deadline_s": 1e12}, "/spec/deadline_s"),
    ({"start_deadline_s": 0.0}, "/spec/start_deadline_s"),
    ({"start_deadline_s": 1e12}, "/spec/start_deadline_s"),
    ({"stop_grace_s": -0.1}, "/spec/stop_grace_s"),
    ({"stop_grace_s": 86_401.0}, "/spec/stop_grace_s"),
    ({"stop_grace_s": NAN}, "/spec/stop_grace_s"),
    ({"start_at": datetime(2026, 1, 1)}, "/spec/start_at"),  # noqa: DTZ001 - the point of the case
    ({"resources": Resources(memory_mib=0)}, "/spec/resources/memory_mib"),
    ({"resources": Resources(cpus=0.0)}, "/spec/resources/cpus"),
    ({"resources": Resources(cpus=NAN)}, "/spec/resources/cpus"),
    ({"ttl": Ttl(compute_s=-1.0)}, "/spec/ttl/compute_s"),
    ({"ttl": Ttl(logs_s=-1.0)}, "/spec/ttl/logs_s"),
    ({"ttl": Ttl(record_s=-1.0)}, "/spec/ttl/record_s"),
    ({"ttl": Ttl(record_s=NAN)}, "/spec/ttl/record_s"),
    ({"ttl": Ttl(record_s=1e12)}, "/spec/ttl/record_s"),
    (_retry(max_attempts=0), "/spec/retry/max_attempts"),
    (_retry(max_attempts=101), "/spec/retry/max_attempts"),
    (_retry(backoff_base_s=-1.0), "/spec/retry/backoff_base_s"),
    (_retry(backoff_base_s=86_401.0), "/spec/retry/backoff_base_s"),
    (_retry(backoff_cap_s=-1.0), "/spec/retry/backoff_cap_s"),
    (_retry(backoff_cap_s=604_801.0), "/spec/retry/backoff_cap_s"),
    (_retry(mitigate={OOM: Mitigation(memory_factor=1.0)}), "/spec/retry/mitigate/out_of_memory/memory_factor"),
    (_retry(mitigate={OOM: Mitigation(memory_factor=INF)}), "/spec/retry/mitigate/out_of_memory/memory_factor"),
    (_retry(mitigate={OOM: Mitigation(memory_max_mib=0)}), "/spec/retry/mitigate/out_of_memory/memory_max_mib"),
    ({"exit_codes": {"0": OOM}}, "/spec/exit_codes/0"),
    ({"exit_codes": {"256": OOM}}, "/spec/exit_codes/256"),
    ({"exit_codes": {"x": OOM}}, "/spec/exit_codes/x"),
    ({"exit_codes": {"007": OOM}}, "/spec/exit_codes/007"),
    ({"exit_codes": {"\u0663": OOM}}, "/spec/exit_codes/\u0663"),
    (
        {"failure_rules": (Rule(name="r", failure_class=OOM, code="c", text="("),)},
        "/spec/failure_rules/0/text",
    ),
    (
        {"failure_rules": (Rule(name="r", failure_class=OOM, code="c", text=r"a(?=b)"),)},
        "/spec/failure_rules/0/text",
    ),
    ({"failure_rules": (Rule(name="r", failure_class=OOM, code="c"),) * 65}, "/spec/failure_rules"),
    ({"program": {"x": "y" * PROGRAM_BYTES_MAX}}, "/spec/program"),
]


@pytest.mark.parametrize(("fields", "pointer"), WRONG, ids=[f"{p}-{i}" for i, (_, p) in enumerate(WRONG)])
def test_every_bound_names_its_field(fields: dict[str, Any], pointer: str) -> None:
    """
    A value out of bounds is one error with the pointer of its field.
    """
    wrong = check(Spec(**fields))

    assert [error.pointer for error in wrong] == [pointer]
    assert wrong[0].code and wrong[0].message


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"priority": 1000},
        {"priority": -1000},
        {"deadline_s": 0.001},
        {"stop_grace_s": 0.0},
        {"stop_grace_s": 86_400.0},
        {"start_at": datetime(2026, 1, 1, tzinfo=UTC)},
        {"ttl": Ttl(compute_s=0.0, logs_s=0.0, record_s=0.0)},
        {"exit_codes": {"1": OOM, "255": OOM}},
        {"queue": "a"},
        {"queue": "x" * 100},
        _retry(max_attempts=100, backoff_base_s=0.0, backoff_cap_s=604_800.0),
    ],
)
def test_the_bounds_themselves_are_allowed(fields: dict[str, Any]) -> None:
    """
    The last value inside each bound is sound.
    """
    assert check(Spec(**fields)) == []


def test_all_errors_come_at_once() -> None:
    """
    A spec with several wrong fields gets all of them, so nobody mends one at a time.
    """
    wrong = check(Spec(queue="", priority=9999, deadline_s=-1.0), at="/jobs/3/spec")

    assert [e.pointer for e in wrong] == ["/jobs/3/spec/queue", "/jobs/3/spec/priority", "/jobs/3/spec/deadline_s"]


@pytest.mark.parametrize(
    ("name", "namespace", "labels", "pointers"),
    [
        ("ok", "default", {"team": "etl", "x/y": ""}, []),
        ("", "default", {}, ["/name"]),
        ("a", "A", {}, ["/namespace"]),
        ("a\n", "n", {}, ["/name"]),
        ("a", "n", {"": "v"}, ["/labels/"]),
        ("a", "n", {"a=b": "v"}, ["/labels/a=b"]),
        ("a", "n", {"a~/b,": "v"}, ["/labels/a~0~1b,"]),
        ("a", "n", {"k": "v" * 201}, ["/labels/k"]),
        ("a", "n", {"k": "v,w"}, ["/labels/k"]),
        ("a", "n", {f"k{i}": "" for i in range(65)}, ["/labels"]),
    ],
)
def test_names_and_labels(name: str, namespace: str, labels: dict[str, str], pointers: list[str]) -> None:
    """
    Names fit every engine's alphabet, labels can be selected by, and each error points at its field.
    """
    assert [error.pointer for error in check_names(name, namespace, labels)] == pointers


def test_the_digest_is_of_the_meaning() -> None:
    """
    Order of keys and defaults written out do not change a digest; any other value does.
    """
    one = Spec(program={"a": 1, "b": 2}, priority=0)
    same = msgspec.convert({"program": {"b": 2, "a": 1}}, Spec)

    assert digest(one) == digest(same)
    assert digest(one) != digest(Spec(program={"a": 1, "b": 3}))
    assert digest(one).startswith("sha256:") and len(digest(one)) == 71
