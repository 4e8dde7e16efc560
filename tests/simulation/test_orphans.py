"""
A run that starts after its job was cancelled: too rare for seeds to find, so it is told by hand.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from random import Random

import pytest
from mutants import orphans_are_left_alone

from standfast.core.job.inputs import Cancel
from standfast.core.job.state import Phase
from standfast.engines.fake import ALL
from standfast.runtime.intake import Submission
from standfast.testing import builders as b
from standfast.testing.simulation.journal import listening
from standfast.testing.simulation.lives import Lives
from standfast.testing.simulation.loop import VirtualLoop
from standfast.testing.simulation.mood import mood_of
from standfast.testing.simulation.stage import Stage


async def _alive_in_the_end(stage: Stage) -> list[str]:
    """
    A launch is late, its job is cancelled meanwhile, the engine forgets that it must refuse it, and the launch arrives.
    """
    lives = Lives(stage)
    keeper = stage.loop.create_task(lives.keep(lambda: 0.0), name="story keeper")
    spec = b.spec(program={"run_s": 1e6, "accept": "delay", "delay_s": 100.0})
    accepted = await lives.ask(lambda intake: intake.submit(Submission(spec=spec, name="late"), by="ann"))
    uid = accepted.job.uid
    await asyncio.sleep(5)
    await lives.ask(lambda intake: intake.command(uid, Cancel(by="ann")))
    await asyncio.sleep(20)
    assert stage.jobs[uid].phase is Phase.CANCELLED
    stage.engine.restart(forget=True, kill=False)
    await asyncio.sleep(80)
    assert stage.engine.starts(stage.jobs[uid].attempt.handle) == 1
    await asyncio.sleep(120)
    alive = [run.handle for run in stage.engine.alive()]
    keeper.cancel()
    await asyncio.wait([keeper])
    await lives.end()
    return alive


def _told() -> list[str]:
    loop = VirtualLoop()
    mood = replace(mood_of(Random("calm")), capabilities=ALL, quiet_s=0.0, skew_s=0.0)
    stage = Stage(0, mood, loop, [])
    stage.chaos = False
    try:
        with listening(stage):
            alive = loop.run_until_complete(loop.create_task(_alive_in_the_end(stage), name="story"))
    finally:
        loop.let_go()
    assert stage.violation is None, stage.violation
    return alive


def test_an_orphan_is_found_and_stopped() -> None:
    """
    A run that no job wants any more is stopped by the sweep.
    """
    assert _told() == []


def test_without_the_sweep_it_lives_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Nothing else would stop it, so the sweep is not there for show.
    """
    orphans_are_left_alone(monkeypatch)

    assert len(_told()) == 1
