"""
One run on the fake engine: a few instants, from which its state at any time follows.

Belongs here: what a run is at a given time. Nothing ticks: a run that was given its end has ended once that time is
past, whether anybody looked or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from standfast.core.job.evidence import Ending
from standfast.engines.fake.script import Script, ending_of
from standfast.ports.engine import Order


@dataclass(slots=True)
class Run:
    """
    One start of user code. life: of the engine, counted from 1. ends_at may lie ahead; asked_at: the first request to
    stop that found it alive.
    """

    order: Order
    script: Script
    started_at: datetime
    ends_at: datetime
    ending: Ending
    life: int = 1
    asked_at: datetime | None = None
    stopped: bool = False
    killed: bool = False
    logs_removed: bool = False

    @property
    def handle(self) -> str:
        """
        The name it was launched under.
        """
        return self.order.handle

    @property
    def gone_at(self) -> datetime:
        """
        From when on nothing of it is alive.
        """
        gone_at = self.ends_at + timedelta(seconds=self.script.lingers_s)
        if self.script.vanishes_s is None:
            return gone_at
        return min(gone_at, self.started_at + timedelta(seconds=self.script.vanishes_s))

    def ended(self, now: datetime) -> bool:
        """
        Whether its main part has ended.
        """
        return self.ends_at <= now

    def alive(self, now: datetime) -> bool:
        """
        Whether anything of it is alive.
        """
        return self.started_at <= now < self.gone_at

    def vanished(self, now: datetime) -> bool:
        """
        Whether the engine lost every trace of it.
        """
        after_s = self.script.vanishes_s
        return after_s is not None and self.started_at + timedelta(seconds=after_s) <= now

    def halt(self, now: datetime, grace_s: float) -> None:
        """
        Ask it to end; repeating changes nothing.
        """
        if self.ended(now) or self.asked_at is not None:
            return
        self.asked_at = now
        after_s = max(min(self.script.stop_s, grace_s), self.script.unkillable_s)
        at = now + timedelta(seconds=after_s)
        if at < self.ends_at:
            self.ends_at, self.ending, self.stopped = at, self.script.stopped, True

    def kill(self, now: datetime) -> None:
        """
        End it from outside, at once and whole.
        """
        if not self.ended(now):
            self.ends_at, self.ending, self.killed = now, Ending.FAILED, True


def begin(order: Order, script: Script, now: datetime, life: int) -> Run:
    """
    Start user code at `now`, in that life of the engine.
    """
    length_s = script.run_s if script.vanishes_s is None else min(script.run_s, script.vanishes_s)
    ending = ending_of(script, order.attempt)
    return Run(order, script, now, now + timedelta(seconds=length_s), ending, life)
