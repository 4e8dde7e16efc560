"""
Metrics: every call of a port is timed and counted, every event counted, by wrapping; adapters and the loop stay silent.

Belongs here: the metrics and their names, which are public. Label values are closed sets: never a uid, never a message.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.registry import Collector

from standfast.core.errors import StandfastError
from standfast.core.job import events as e
from standfast.core.job.machine import Step
from standfast.core.job.observation import Unreachable
from standfast.runtime.tally import Count, Tally
from standfast.runtime.timings import Timer, Timings

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """
    The metrics of one control plane, in a registry of its own.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.calls = Timings("standfast_port_call_seconds", "Time of one call of a port.", ("port", "call"), _SECONDS)
        self.register(self.calls)
        self.errors = Counter(
            "standfast_port_errors",
            "Calls of a port that failed, by error code.",
            ("port", "call", "code"),
            registry=self.registry,
        )
        self.events = Tally("standfast_events", "Events committed, by kind.", ("kind",))
        self.register(self.events)
        self.failures = Counter(
            "standfast_attempt_failures",
            "Failed attempts, by engine and class.",
            ("engine", "failure_class"),
            registry=self.registry,
        )
        self.duplicates = Counter(
            "standfast_duplicate_submissions_prevented",
            "Submissions answered with the job their request id had made.",
            registry=self.registry,
        )
        self.unreachable = Counter(
            "standfast_engine_unreachable",
            "Observations that an engine did not answer.",
            ("engine",),
            registry=self.registry,
        )
        self.jobs = Gauge(
            "standfast_jobs", "Jobs, by engine, queue and phase.", ("engine", "queue", "phase"), registry=self.registry
        )

    def register(self, collector: Collector) -> None:
        """
        Add a collector of somebody else's figures.
        """
        self.registry.register(collector)


class PortHook:
    """
    Times and counts the calls of one port.
    """

    def __init__(self, metrics: Metrics, port: str) -> None:
        self._metrics = metrics
        self._port = port
        self._timers: dict[str, Timer] = {}

    def before(self, call: str, args: tuple[Any, ...]) -> object:
        """
        Start the watch.
        """
        return time.perf_counter()

    def after(self, call: str, token: object, args: tuple[Any, ...], answer: Any, error: BaseException | None) -> None:
        """
        Stop the watch, and count what the call meant.
        """
        assert isinstance(token, float)
        timer = self._timers.get(call)
        if timer is None:
            timer = self._timers[call] = self._metrics.calls.of(self._port, call)
        timer.observe(time.perf_counter() - token)
        if error is not None:
            code = error.code if isinstance(error, StandfastError) else type(error).__name__
            self._metrics.errors.labels(self._port, call, code).inc()


class StoreHook(PortHook):
    """
    As `PortHook`, and counts the events that were committed.
    """

    def __init__(self, metrics: Metrics, port: str) -> None:
        super().__init__(metrics, port)
        self._kinds: dict[type[e.Event], Count] = {}

    def after(self, call: str, token: object, args: tuple[Any, ...], answer: Any, error: BaseException | None) -> None:
        """
        Count events and failures of the steps that won.
        """
        super().after(call, token, args, answer, error)
        if call == "commit" and error is None:
            self._count(args[0], answer)

    def _count(self, steps: Sequence[Step], answers: Sequence[Any]) -> None:
        kinds = self._kinds
        for taken, answer in zip(steps, answers, strict=True):
            after = taken.after
            if answer is not after and getattr(answer, "revision", None) != after.revision:
                if taken.before is None:
                    self._metrics.duplicates.inc()
                continue
            for event in taken.events:
                count = kinds.get(type(event))
                if count is None:
                    count = kinds[type(event)] = self._metrics.events.of(type(event).__name__)
                count.value += 1
            if after.attempts:
                self._count_failures(taken)

    def _count_failures(self, taken: Step) -> None:
        for event in taken.events:
            if isinstance(event, e.Failed | e.RetryScheduled) and event.end.failure is not None:
                self._metrics.failures.labels(taken.after.spec.engine, event.end.failure.failure_class).inc()


class EngineHook(PortHook):
    """
    As `PortHook`, and counts silence.
    """

    def after(self, call: str, token: object, args: tuple[Any, ...], answer: Any, error: BaseException | None) -> None:
        """
        Count observations that say nothing.
        """
        super().after(call, token, args, answer, error)
        silent = 0
        if call == "launch":
            silent = isinstance(answer, Unreachable)
        elif call == "look" and error is None:
            silent = sum(isinstance(seen, Unreachable) for seen in answer.values())
        if silent:
            self._metrics.unreachable.labels(self._port).inc(silent)
