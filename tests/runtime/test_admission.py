"""
Admission: slots of engines and queues hold, priorities decide, and a queued job can say what it waits for.
"""

from __future__ import annotations

from dataclasses import replace

from runtime_bench import LIMITS, Bench, bench

from standfast.core.job.inputs import Cancel
from standfast.core.job.state import Phase


async def _phases(made: Bench, uids: list[str]) -> list[Phase]:
    return [(await made.intake.job(uid)).phase for uid in uids]


async def test_an_engines_slots_hold() -> None:
    """
    With two slots, two of five jobs run; the next one starts when a slot is free, in order of age.
    """
    made = bench(limits=replace(LIMITS, slots=2))
    await made.loop.start()
    uids = [await made.submit(f"job-{n}", program={"run_s": 60}) for n in range(5)]
    await made.until(uids[1], lambda job: job.phase is Phase.RUNNING)
    assert await _phases(made, uids) == [Phase.RUNNING, Phase.RUNNING, Phase.QUEUED, Phase.QUEUED, Phase.QUEUED]

    await made.intake.command(uids[0], Cancel(by="ann"))
    await made.until(uids[2], lambda job: job.phase is Phase.RUNNING)

    assert (await _phases(made, uids))[3:] == [Phase.QUEUED, Phase.QUEUED]
    await made.loop.stop()


async def test_a_queues_slots_hold_over_engines() -> None:
    """
    A queue's limit counts its jobs on every engine together.
    """
    base = bench()
    other = type(base.engine)(base.world.clock, name="other")
    made = bench(limits=replace(LIMITS, queue_slots={"narrow": 1}), other=other)
    await made.loop.start()
    narrow = [
        await made.submit("a", program={"run_s": 60}, queue="narrow"),
        await made.submit("b", engine="other", program={"run_s": 60}, queue="narrow"),
    ]
    wide = await made.submit("c", program={"run_s": 60})
    await made.until(wide, lambda job: job.phase is Phase.RUNNING)
    await made.until(narrow[0], lambda job: job.phase is Phase.RUNNING)

    assert (await _phases(made, narrow))[1] is Phase.QUEUED
    await made.intake.command(narrow[0], Cancel(by="ann"))
    await made.until(narrow[1], lambda job: job.phase is Phase.RUNNING)
    await made.loop.stop()


async def test_priority_goes_before_age() -> None:
    """
    The most urgent waiting job gets the next slot.
    """
    made = bench(limits=replace(LIMITS, slots=1))
    await made.loop.start()
    blocker = await made.submit("blocker", program={"run_s": 60})
    await made.until(blocker, lambda job: job.phase is Phase.RUNNING)
    old = await made.submit("old", program={"run_s": 60})
    urgent = await made.submit("urgent", program={"run_s": 60}, priority=5)

    await made.intake.command(blocker, Cancel(by="ann"))
    await made.until(urgent, lambda job: job.phase is Phase.RUNNING)

    assert await _phases(made, [old]) == [Phase.QUEUED]
    await made.loop.stop()


async def test_a_queued_job_says_what_it_waits_for() -> None:
    """
    The limit that holds it, how many slots are in use, how many jobs stand before it.
    """
    made = bench(limits=replace(LIMITS, slots=1))
    await made.loop.start()
    blocker = await made.submit("blocker", program={"run_s": 60})
    await made.until(blocker, lambda job: job.phase is Phase.RUNNING)
    await made.submit("first", program={"run_s": 60})
    second = await made.submit("second", program={"run_s": 60})

    waiting = await made.loop.waiting(await made.intake.job(second))

    assert waiting is not None
    assert (waiting.limit, waiting.slots, waiting.active, waiting.ahead) == ("engine fake", 1, 1, 1)
    assert await made.loop.waiting(await made.intake.job(blocker)) is None
    await made.loop.stop()
