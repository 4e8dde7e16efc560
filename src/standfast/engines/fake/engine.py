"""
`FakeEngine`: the engine port over runs that are only instants in memory.

Belongs here: what each call does, and the switches by which a test makes the whole engine misbehave (`fall_silent`,
`restart`). The object outlives the control planes that come and go on it, and its ledger counts every run for good.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from heapq import heappop, heappush
from typing import Any

import msgspec

from standfast.core.errors import FieldError, Gone, NotFound, Unavailable
from standfast.core.failure import Failure, FailureClass
from standfast.core.job.evidence import Ending
from standfast.core.job.inputs import Remainder
from standfast.core.job.observation import Observation, Refused, Unreachable
from standfast.core.job.spec import Spec
from standfast.engines.fake import script as scripts
from standfast.engines.fake.hints import Hints
from standfast.engines.fake.runs import Run, begin
from standfast.engines.fake.script import Accept, Script
from standfast.engines.fake.translate import Look, to_absent, to_ended, to_never_ran, to_present
from standfast.ports.clock import Clock
from standfast.ports.engine import Capability, Chunk, Hint, Order

ALL = frozenset(Capability)


class FakeEngine:
    """
    An engine in memory, by default one that does everything right.

    quiet_s: how long a send may be under way, for an engine that takes a handle twice. life: name of its first
    incarnation.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        name: str = "fake",
        capabilities: frozenset[Capability] = ALL,
        quiet_s: float = 0.0,
        life: str = "life",
    ) -> None:
        self.ledger: list[Run] = []
        """Every run that ever started, oldest first; also those that the engine itself has forgotten."""
        self._clock = clock
        self._name = name
        self._capabilities = capabilities
        self._quiet_s = quiet_s
        self._life = life
        self._lives = 1
        self._born: list[datetime] = [clock.now()]
        self._known: dict[str, Run] = {}
        self._void: set[str] = set()
        self._refused: dict[str, Refused] = {}
        self._never_ran: dict[str, datetime] = {}
        self._sends: dict[str, int] = {}
        self._under_way: list[tuple[datetime, int, Order]] = []
        self._silent_until: datetime | None = None
        self._hints = Hints(clock)

    # --- switches of tests -------------------------------------------------------------------------------------------

    def fall_silent(self, seconds: float) -> None:
        """
        Answer nobody for so long; what runs goes on.
        """
        self._silent_until = self._clock.now() + timedelta(seconds=seconds)

    def restart(self, *, forget: bool, kill: bool) -> None:
        """
        Live on. forget: in a new incarnation, knowing no handle. kill: every run ends; else they run on unseen.
        """
        now = self._clock.now()
        self._arrive(now)
        for run in self._known.values():
            if kill:
                run.kill(now)
        if forget:
            self._lives += 1
            self._born.append(now)
            self._known.clear()
            self._void.clear()
            self._refused.clear()
            self._never_ran.clear()

    def drop(self, handle: str) -> None:
        """
        Forget one handle in the same life, as an engine with a bug would; its run goes on.
        """
        self._known.pop(handle, None)

    @property
    def born(self) -> Sequence[datetime]:
        """
        When each of its lives began.
        """
        return self._born

    def speak(self) -> None:
        """
        End a silence.
        """
        self._silent_until = None

    def knows(self, run: Run) -> bool:
        """
        Whether the engine itself still has this run under its handle.
        """
        return self._known.get(run.handle) is run

    def alive(self) -> list[Run]:
        """
        Every run of which something is alive now, known to the engine or not.
        """
        now = self._clock.now()
        self._arrive(now)
        return [run for run in self.ledger if run.alive(now)]

    def starts(self, handle: str) -> int:
        """
        How often user code started under the handle.
        """
        self._arrive(self._clock.now())
        return sum(run.handle == handle for run in self.ledger)

    # --- the port ----------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """
        As specs name it.
        """
        return self._name

    @property
    def capabilities(self) -> frozenset[Capability]:
        """
        As given.
        """
        return self._capabilities

    async def open(self, hint: Hint) -> None:
        """
        Tell `hint` of every change from now on, if it can.
        """
        now = self._clock.now()
        self._hints.to(hint if Capability.HINTS in self._capabilities else None)
        for run in self._known.values():
            self._hints.announce(run, now)
        for at, _, order in self._under_way:
            self._hints.at(order.handle, at, now)

    def check(self, spec: Spec) -> list[FieldError]:
        """
        Everything wrong with the script.
        """
        return scripts.check(spec)

    def call(self, order: Order) -> Mapping[str, Any]:
        """
        The order, as it would be sent.
        """
        return {"engine": self._name, "order": msgspec.to_builtins(order)}

    async def incarnation(self) -> str:
        """
        The present life's name.
        """
        self._answering(self._clock.now())
        return self._incarnation

    async def launch(self, order: Order) -> Observation:
        """
        Take the order as its script says.
        """
        now = self._clock.now()
        handle = order.handle
        if self._silent(now):
            return self._no_answer(now, "launch")
        if self._under_way:
            self._arrive(now)
        script = scripts.parse(order.spec)
        if script.answer_s > 0:
            await self._clock.sleep(script.answer_s)
            now = self._clock.now()
        if handle in self._refused:
            return msgspec.structs.replace(self._refused[handle], at=now)
        if handle in self._known or handle in self._void or handle in self._never_ran:
            return self._observe(handle, now, "launch")
        sends = self._sends[order.uid] = self._sends.get(order.uid, 0) + 1
        accept = script.accept if script.accept_for is None or sends <= script.accept_for else Accept.YES
        match accept:
            case Accept.LOSE_REQUEST:
                return self._no_answer(now, "launch")
            case Accept.REFUSE:
                return self._refuse(handle, script, now)
            case Accept.DELAY:
                self._delay(order, script, now)
                return self._no_answer(now, "launch")
        self._begin(order, script, now)
        return self._no_answer(now, "launch") if accept is Accept.LOSE_REPLY else self._observe(handle, now, "launch")

    async def look(self, handles: Sequence[str]) -> Mapping[str, Observation]:
        """
        All in one call.
        """
        now = self._clock.now()
        if self._silent(now):
            return dict.fromkeys(handles, self._no_answer(now, "look"))
        if self._under_way:
            self._arrive(now)
        return {handle: self._observe(handle, now, "look") for handle in handles}

    async def halt(self, handle: str, *, grace_s: float) -> None:
        """
        Ask the run to end, and never take the handle again in this life.
        """
        now = self._clock.now()
        self._answering(now)
        self._arrive(now)
        self._void.add(handle)
        run = self._known.get(handle)
        if run is not None:
            run.halt(now, grace_s)
            self._hints.announce(run, now)

    async def handles(self) -> Sequence[str]:
        """
        All it knows, if it can list.
        """
        now = self._clock.now()
        self._answering(now)
        self._arrive(now)
        if Capability.LISTS not in self._capabilities:
            return []
        return [handle for handle, run in self._known.items() if not run.vanished(now)]

    async def read(self, handle: str, *, stream: str, offset: int, limit: int) -> Chunk:
        """
        The script's output, all of it there from the start.
        """
        now = self._clock.now()
        self._answering(now)
        run = self._known.get(handle)
        if run is None or stream not in ("stdout", "stderr") or Capability.LOGS not in self._capabilities:
            raise NotFound(f"there is no {stream} of {handle}", code="logs_not_found")
        if run.logs_removed:
            raise Gone(f"the output of {handle} was removed", code="logs_gone")
        data = run.script.output.encode() if stream == "stdout" else b""
        begin_at = max(0, len(data) + offset) if offset < 0 else min(offset, len(data))
        piece = data[begin_at : begin_at + limit]
        next_offset = begin_at + len(piece)
        return Chunk(piece, begin_at, next_offset, len(data), run.ended(now) and next_offset == len(data))

    async def remove(self, handle: str, what: Remainder) -> None:
        """
        Remove output, or with RECORD the memory of the handle.

        Raises:
            Unavailable: It has not ended, or the engine does not answer.
        """
        now = self._clock.now()
        self._answering(now)
        self._arrive(now)
        run = self._known.get(handle)
        if run is not None and not run.ended(now):
            raise Unavailable(f"{handle} has not ended", code="engine_unreachable")
        if run is not None and what is Remainder.LOGS:
            run.logs_removed = True
        if what is Remainder.RECORD:
            self._known.pop(handle, None)
            self._never_ran.pop(handle, None)
            self._void.discard(handle)
            self._refused.pop(handle, None)

    async def close(self) -> None:
        """
        Hint no more.
        """
        self._hints.to(None)

    # --- what happens inside -----------------------------------------------------------------------------------------

    @property
    def _incarnation(self) -> str:
        return f"{self._name}-{self._life}-{self._lives}"

    def _begin(self, order: Order, script: Script, now: datetime) -> None:
        if script.ending is Ending.NEVER_RAN and order.attempt > script.fails:
            self._never_ran[order.handle] = now
            return
        run = begin(order, script, now, self._lives)
        self.ledger.append(run)
        self._known[order.handle] = run
        if run.ends_at > now or script.lingers_s > 0:
            self._hints.announce(run, now)

    def _delay(self, order: Order, script: Script, now: datetime) -> None:
        """
        Let the order arrive later; one that outlives the quiet time of an engine that takes handles twice is lost.
        """
        if Capability.REFUSES_TWICE not in self._capabilities and script.delay_s > self._quiet_s:
            return
        at = now + timedelta(seconds=script.delay_s)
        heappush(self._under_way, (at, len(self.ledger) + len(self._under_way), order))
        self._hints.at(order.handle, at, now)

    def _arrive(self, now: datetime) -> None:
        """
        Let every order that was under way until now take its effect, in order of arrival.
        """
        while self._under_way and self._under_way[0][0] <= now:
            at, _, order = heappop(self._under_way)
            known = order.handle in self._known and Capability.REFUSES_TWICE in self._capabilities
            if not known and order.handle not in self._void:
                self._begin(order, scripts.parse(order.spec), at)

    def _refuse(self, handle: str, script: Script, now: datetime) -> Observation:
        self._void.add(handle)
        failure = Failure.of(
            script.failure_class or FailureClass.SUBMISSION_REFUSED,
            "fake.refused",
            script.message or "the script refuses it",
            rule="fake/script",
        )
        refused = self._refused[handle] = Refused(at=now, by=f"{self._name}.launch", failure=failure)
        return refused

    def _observe(self, handle: str, now: datetime, call: str) -> Observation:
        look = Look(now, f"{self._name}.{call}", self._incarnation, self._name, self._capabilities)
        run = self._known.get(handle)
        if run is None and handle in self._never_ran:
            return to_never_ran(handle, self._never_ran[handle], look)
        if run is None or run.vanished(now):
            quiet_s = 0.0 if Capability.REFUSES_TWICE in self._capabilities else self._quiet_s
            return to_absent(look, quiet_s=quiet_s, final=handle in self._void)
        return to_ended(run, look) if run.ended(now) else to_present(run, look)

    def _silent(self, now: datetime) -> bool:
        return self._silent_until is not None and now < self._silent_until

    def _answering(self, now: datetime) -> None:
        if self._silent(now):
            raise Unavailable(f"{self._name} is silent", code="engine_unreachable")

    def _no_answer(self, now: datetime, call: str) -> Unreachable:
        return Unreachable(at=now, by=f"{self._name}.{call}", reason="no answer")
