"""
Times by bucket and counts, as Prometheus reads them.
"""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from standfast.runtime.tally import Tally
from standfast.runtime.timings import Timings

BOUNDS = (0.001, 0.5, 30)
SECONDS = (0.0, 0.0005, 0.001, 0.0011, 0.5, 3.0, 30.0, 31.0, 1e9)


def _told(registry: CollectorRegistry) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    text = generate_latest(registry).decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for s in samples if not s.name.endswith("_created")}


def test_it_tells_what_the_library_would_tell() -> None:
    """
    The same names, labels, buckets, counts and sums, for times on, between and beyond the bounds.
    """
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    timings = Timings("t_seconds", "Times.", ("call", "status"), BOUNDS)
    ours.register(timings)
    histogram = Histogram("t_seconds", "Times.", ("call", "status"), buckets=BOUNDS, registry=theirs)
    for status in ("200", "404"):
        for seconds in SECONDS:
            timings.of("get", status).observe(seconds)
            histogram.labels("get", status).observe(seconds)
    told = _told(ours)
    assert told == _told(theirs) and len(told) == 2 * (len(BOUNDS) + 3)


def test_a_tally_tells_what_the_library_would_tell() -> None:
    """
    Likewise for counts.
    """
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    tally = Tally("t", "Things.", ("kind",))
    ours.register(tally)
    counter = Counter("t", "Things.", ("kind",), registry=theirs)
    for kind in ("a", "b", "a"):
        tally.of(kind).value += 1
        counter.labels(kind).inc()
    assert _told(ours) == _told(theirs) == {("t_total", (("kind", "a"),)): 2, ("t_total", (("kind", "b"),)): 1}


@pytest.mark.parametrize(
    "family", [Timings("t_seconds", "Times.", ("call",), BOUNDS), Tally("t", "Things.", ("kind",))]
)
def test_a_name_is_taken_once(family: Collector) -> None:
    """
    A second family of the same name is refused, as the library refuses it: two would be read as one.
    """
    registry = CollectorRegistry()
    registry.register(family)
    with pytest.raises(ValueError, match="Duplicated"):
        registry.register(family)
