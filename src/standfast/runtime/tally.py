"""
A counter in the format of Prometheus, counted by one event loop; beside `timings`, and for the same reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from prometheus_client.core import CounterMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector


class Count:
    """
    The count of one set of labels; `value` is added to by whoever counts, only on the event loop.
    """

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0


class Tally(Collector):
    """
    One counter with labels.
    """

    def __init__(self, name: str, meaning: str, labels: Sequence[str]) -> None:
        self._name, self._meaning = name, meaning
        # Named as in the client library, see `Timings`.
        self._labelnames = tuple(labels)
        self._counts: dict[tuple[str, ...], Count] = {}

    def of(self, *values: str) -> Count:
        """
        The count of these label values, in their order; to be kept by whoever uses it often.
        """
        count = self._counts.get(values)
        if count is None:
            count = self._counts[values] = Count()
        return count

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
        for values, count in self._counts.items():
            family.add_metric(values, count.value)
        yield family

    def _family(self) -> CounterMetricFamily:
        return CounterMetricFamily(self._name, self._meaning, labels=self._labelnames)
