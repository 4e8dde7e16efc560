"""
One story from its seed: a time of troubles, then healing, then a reckoning.

Belongs here: what the director does, what the person says who settles what nothing else can, and when it is all over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from standfast.core.errors import KeyReused, NotFound, Rejected, StandfastError
from standfast.core.job.evidence import Ending
from standfast.core.job.inputs import Cancel, Resolve, Resume, Suspend
from standfast.core.job.state import Job, Outcome, Phase
from standfast.engines.fake import ALL
from standfast.runtime.intake import Intake, Submission
from standfast.testing.simulation import checkers, workload
from standfast.testing.simulation.journal import listening
from standfast.testing.simulation.lives import OTHER_SLOTS, Lives
from standfast.testing.simulation.loop import NothingLeft, VirtualLoop
from standfast.testing.simulation.mood import mood_of
from standfast.testing.simulation.stage import Stage, Violation

SETTLE_S = 600.0
"""Virtual seconds after healing in which everything that can settle by itself must."""

ROUNDS = 12
"""How often the person goes round."""

THINK_S = 60.0
"""A person speaks about a doubt only once it is that old, so that nothing is under way any more."""

COMMANDS: dict[str, Cancel | Suspend | Resume] = {
    "cancel": Cancel(by="caller"),
    "suspend": Suspend(by="caller"),
    "resume": Resume(by="caller"),
}


@dataclass(frozen=True)
class Report:
    """
    How a story went.
    """

    seed: int
    violation: Violation | None
    trace: list[str]
    jobs: int
    lives: int
    runs: int
    virtual_s: float

    @property
    def good(self) -> bool:
        """
        Whether everything held.
        """
        return self.violation is None

    @property
    def summary(self) -> str:
        """
        What a person needs to see it again.
        """
        told = f"{self.jobs} jobs, {self.runs} runs, {self.lives} lives, {self.virtual_s:.0f} virtual seconds"
        if self.violation is None:
            return f"seed {self.seed}: good ({told})"
        again = f"python -m standfast.testing.simulation {self.seed} --trace"
        return f"seed {self.seed}: {self.violation} ({told})\n  again: {again}"


def tell(seed: int, **weather: Any) -> Report:
    """
    Tell the story of a seed. weather: fields of its mood that are not drawn, to look where something is to be found.
    """
    loop = VirtualLoop()
    mood = replace(mood_of(Random(f"{seed}/mood")), **weather)
    stage = Stage(seed, mood, loop, [make() for make in checkers.ALL])
    stage.note(str(replace(mood, capabilities=frozenset())) + f" without {sorted(ALL - mood.capabilities)}")
    try:
        with listening(stage):
            loop.run_until_complete(loop.create_task(_Story(seed, stage).told(), name="story"))
    except NothingLeft:
        stage.demand(False, "everything waits for ever")
    finally:
        loop.let_go()
    return Report(
        seed, stage.violation, stage.trace, len(stage.jobs), stage.lives, len(stage.engine.ledger), loop.time()
    )


class _Story:
    def __init__(self, seed: int, stage: Stage) -> None:
        self._stage = stage
        self._lives = Lives(stage)
        self._random = Random(f"{seed}/story")
        self._tasks: list[asyncio.Task[None]] = []

    async def told(self) -> None:
        stage, mood = self._stage, self._stage.mood
        keeper = self._begin("keeper", self._lives.keep(self._downtime_s))
        callers = [self._begin(f"caller {n}", self._caller(n)) for n in range(mood.jobs)]
        director = self._begin("director", self._direct())
        await asyncio.sleep(mood.horizon_s)
        director.cancel()
        stage.chaos = False
        stage.engine.speak()
        stage.note("healed")
        await asyncio.sleep(SETTLE_S)
        stuck = [n for n, caller in enumerate(callers) if not caller.done()]
        stage.demand(not stuck, f"callers {stuck} never got an answer")
        for caller in callers:
            if caller.done() and caller.exception() is not None:
                raise caller.exception() or AssertionError
        for job in stage.jobs.values():
            stage.demand(job.phase.final or self._may_rest(job), f"{job.uid[-4:]} did not settle: {_state(job)}")
        self._demand_no_orphans()
        for _ in range(ROUNDS):
            if all(job.phase.final for job in stage.jobs.values()):
                break
            for uid in list(stage.jobs):
                await self._settle(uid)
            await asyncio.sleep(100.0)
        for job in stage.jobs.values():
            stage.demand(job.phase.final, f"{job.uid[-4:]} never ends: {_state(job)}")
        keeper.cancel()
        await asyncio.wait([keeper])
        await self._lives.end()
        stage.judge()

    def _begin(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self._stage.loop.create_task(work, name=f"story {name}")

    def _downtime_s(self) -> float:
        return self._random.choice([0.0, 1.0, 10.0, 90.0]) if self._stage.chaos else 1.0

    # --- troubles ----------------------------------------------------------------------------------------------------

    async def _direct(self) -> None:
        """
        Now and then do something to everybody.
        """
        stage, mood, random = self._stage, self._stage.mood, self._random
        acts = ["crash", "stop", "silence", *(["restart"] if mood.forgets or mood.kills else [])]
        while True:
            await asyncio.sleep(random.expovariate(1 / mood.act_every_s))
            match random.choice(acts):
                case "crash":
                    self._lives.kill()
                case "stop":
                    await self._lives.stop()
                case "silence":
                    seconds = random.choice([1.0, 10.0, 60.0])
                    stage.note(f"the engine is silent for {seconds} s")
                    stage.engine.fall_silent(seconds)
                case "restart":
                    forget, kill = mood.forgets and random.random() < 0.7, mood.kills and random.random() < 0.7
                    stage.note(f"the engine restarts{', forgets' * forget}{', kills' * kill}")
                    stage.engine.restart(forget=forget, kill=kill)

    async def _caller(self, number: int) -> None:
        """
        Submit one job, perhaps twice at once, and give it commands.
        """
        stage, random = self._stage, Random(f"{self._random.random()}/{number}")
        spec = workload.spec_of(random, stage.mood)
        commands = workload.commands_of(random, stage.mood)
        twice, other = random.random() < 0.3, random.random() < 0.1
        await asyncio.sleep(random.uniform(0, stage.mood.horizon_s * 0.7))
        submission = Submission(spec=spec, name=f"job-{number}", request_id=f"request-{number}")
        again = [self._begin(f"caller {number} again", self._submit(submission))] if twice else []
        if other:
            reused = Submission(spec=spec, name="another", request_id=f"request-{number}")
            again.append(self._begin(f"caller {number} other", self._submit(reused)))
        await self._submit(submission)
        for task in again:
            await task
        uid = stage.acknowledged[f"request-{number}"]
        begun = stage.loop.time()
        for at_s, verb in commands:
            await asyncio.sleep(max(0.0, begun + at_s - stage.loop.time()))
            stage.note(f"{uid[-4:]} asked to {verb}")
            try:
                await self._lives.ask(lambda intake, verb=verb: _command(intake, uid, verb, number))  # type: ignore[misc]
            except (Rejected, NotFound) as error:
                stage.note(f"{uid[-4:]} {verb}: {error.code}")
            else:
                stage.note(f"{uid[-4:]} {verb}: accepted")
                checkers.accepted(stage, uid, verb)

    async def _submit(self, submission: Submission) -> None:
        stage, request_id = self._stage, submission.request_id
        assert request_id is not None
        try:
            accepted = await self._lives.ask(lambda intake: intake.submit(submission, by="caller"))
        except KeyReused:
            return
        uid = accepted.job.uid
        known = stage.acknowledged.setdefault(request_id, uid)
        stage.demand(known == uid, f"{request_id} was answered with two jobs")

    # --- the end -----------------------------------------------------------------------------------------------------

    def _may_rest(self, job: Job) -> bool:
        """
        Whether an unfinished job may stay as it is until somebody does something.
        """
        engine, script = self._stage.engine, job.spec.program
        match job.phase:
            case Phase.SUSPENDED:
                return True
            case Phase.QUEUED:
                held = [other for other in self._stage.jobs.values() if other.phase.holds_slot]
                in_queue = [other for other in held if other.spec.queue == job.spec.queue]
                return len(held) >= self._stage.mood.slots or (
                    job.spec.queue == "other" and len(in_queue) >= OTHER_SLOTS
                )
            case Phase.RUNNING:
                return any(run.handle == job.attempt.handle for run in engine.alive())
            case Phase.UNCERTAIN:
                elsewhere = not job.attempt.incarnation.endswith(f"-{len(engine.born)}")
                unproven = script.get("gone") == "unknown" or "proves_gone" not in engine.capabilities
                silent = script.get("reports") == {} or "vanishes_s" in script
                return elsewhere or unproven or silent
        return False

    def _demand_no_orphans(self) -> None:
        """
        What runs, and is known to the engine, belongs to a job that wants it.
        """
        stage = self._stage
        if "lists" not in stage.engine.capabilities:
            return
        for run in stage.engine.alive():
            job = stage.jobs[run.order.uid]
            wanted = job.phase.holds_slot and job.attempt.handle == run.handle
            stage.demand(wanted or not stage.engine.knows(run), f"{run.handle} is an orphan of {_state(job)}")

    async def _settle(self, uid: str) -> None:
        """
        What a person does who can see everything, and tells the truth.
        """
        stage, job = self._stage, self._stage.jobs[uid]
        command: Cancel | Resume | Resolve | None = None
        match job.phase:
            case Phase.SUSPENDED:
                command = Resume(by="person")
            case Phase.RUNNING if job.spec.program.get("run_s") == workload.STREAM_S:
                command = Cancel(by="person")
            case Phase.UNCERTAIN if stage.loop.time() - stage.moved_at[uid] >= THINK_S:
                runs = [run for run in stage.engine.ledger if run.handle == job.attempt.handle]
                for run in runs:
                    run.kill(stage.clock.now())
                stage.engine.drop(job.attempt.handle)
                command = Resolve(by="person", answer="absent", because="nothing is there")
                if runs:
                    good = any(run.ending is Ending.SUCCEEDED and not run.stopped for run in runs)
                    outcome = Outcome.SUCCEEDED if good else Outcome.FAILED
                    command = Resolve(by="person", answer="done", because="it ended", outcome=outcome)
        if command is None:
            return
        said: Cancel | Suspend | Resume | Resolve = command
        stage.note(f"{uid[-4:]} person: {type(said).__name__}")
        try:
            await self._lives.ask(lambda intake: intake.command(uid, said))
        except StandfastError as error:
            stage.note(f"{uid[-4:]} person: {error}")


async def _command(intake: Intake, uid: str, verb: str, number: int) -> None:
    if verb == "retry":
        await intake.retry(uid, request_id=f"retry-{number}", by="caller")
    else:
        await intake.command(uid, COMMANDS[verb])


def _state(job: Job) -> str:
    doubt = f" ({job.uncertain.doubt}: {job.uncertain.message})" if job.uncertain else ""
    return f"{job.phase}{doubt}, attempt {len(job.attempts)}"
