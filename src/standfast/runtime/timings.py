"""
A histogram of times in the format of Prometheus, counted by one event loop.

Belongs here: counting, and how it is collected. Not here: which times are taken (`telemetry`, the API's door). The
client library's own histogram takes two locks and some checks for each time, several microseconds of each request.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from prometheus_client.core import HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString


class Timer:
    """
    The times of one set of labels.
    """

    __slots__ = ("_bounds", "counts", "total_s")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total_s = 0.0

    def observe(self, seconds: float) -> None:
        """
        Count one time; only on the event loop.
        """
        self.counts[bisect_left(self._bounds, seconds)] += 1
        self.total_s += seconds


class Timings(Collector):
    """
    One histogram with labels. bounds: upper bounds of its buckets, growing; infinity is added.
    """

    def __init__(self, name: str, meaning: str, labels: Sequence[str], bounds: Sequence[float]) -> None:
        self._name, self._meaning, self._bounds = name, meaning, tuple(bounds)
        # Named as in the client library, so that whoever lists labels need not tell its metrics from ours.
        self._labelnames = tuple(labels)
        self._bound_names = [*map(floatToGoString, bounds), "+Inf"]
        self._timers: dict[tuple[str, ...], Timer] = {}

    def of(self, *values: str) -> Timer:
        """
        The timer of these label values, in their order; to be kept by whoever uses it often.
        """
        timer = self._timers.get(values)
        if timer is None:
            timer = self._timers[values] = Timer(self._bounds)
        return timer

    def describe(self) -> Iterable[Metric]:
        """
        The family without figures, so that a registry refuses a second one of its name.
        """
        yield self._family()

    def collect(self) -> Iterable[Metric]:
        """
        The family as it is now.
        """
        family = self._family()
        for values, timer in self._timers.items():
            buckets: list[tuple[str, float]] = []
            so_far = 0
            for bound, count in zip(self._bound_names, timer.counts, strict=True):
                so_far += count
                buckets.append((bound, so_far))
            family.add_metric(values, buckets=buckets, sum_value=timer.total_s)
        yield family

    def _family(self) -> HistogramMetricFamily:
        return HistogramMetricFamily(self._name, self._meaning, labels=self._labelnames)
