"""
Two stores given the same history answer every question alike.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
from datetime import timedelta
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from standfast.ports.store import Query
from standfast.stores.memory.store import MemoryStore
from standfast.stores.sqlite.store import SqliteStore
from standfast.testing.contracts.histories import HandClock, Store, Wanderer


@settings(max_examples=25, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32))
def test_memory_and_sqlite_answer_alike(seed: int) -> None:
    """
    After every call of a random history, memory and SQLite give the same answers, to random questions too.
    """
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_live(seed, Path(folder)))


async def _live(seed: int, folder: Path) -> None:
    clock = HandClock()
    wanderer = Wanderer(random.Random(seed), clock)
    memory: Store = MemoryStore()
    sqlite: Store = SqliteStore(folder / "standfast.db", clock)
    assert await memory.begin(clock.now()) == await sqlite.begin(clock.now())
    for _ in range(60):
        steps = wanderer.steps()
        answers = await memory.commit(steps)
        assert await sqlite.commit(steps) == answers
        wanderer.learn(answers)
        job = wanderer.removal()
        if job is not None:
            removed = await memory.remove(job.uid, revision=job.revision)
            assert await sqlite.remove(job.uid, revision=job.revision) == removed
            if removed:
                wanderer.forget(job.uid)
        assert await _asked(memory, wanderer, seed) == await _asked(sqlite, wanderer, seed)
    await sqlite.close()


async def _asked(store: Store, wanderer: Wanderer, seed: int) -> list[object]:
    """
    Its answers; the questions depend on the history and the seed alone.
    """
    dice, now = random.Random(seed + wanderer.dice.getstate()[1][0]), wanderer.clock.now()
    asker = Wanderer(dice, wanderer.clock)
    asker.jobs = wanderer.jobs
    uids = list(wanderer.jobs)
    some = dice.sample(uids, min(3, len(uids)))
    at = now + timedelta(seconds=dice.choice([-30, 0, 30]))
    answers: list[object] = [
        await store.load([*some, "job_unknown"]),
        await store.due(at, limit=dice.randint(1, 6), skip=some),
        await store.watched(),
        await store.slots(),
        await store.newest_seq(),
        await store.events(after=dice.randint(0, 50), limit=dice.randint(1, 20)),
        await store.events(uid=some[0] if some else "job_unknown", namespace=dice.choice([None, "science"])),
        await store.events(namespace="science", after=dice.randint(0, 50)),
    ]
    for engine in ("fake", "process"):
        answers.append(await store.queued(at, engine=engine, queue="default", limit=dice.randint(1, 6)))
    for uid in some:
        job = wanderer.jobs[uid]
        answers += [await store.ahead(job), await store.find(job.namespace, job.request_id)]
    for query in (Query(), asker.query(), asker.query()):
        after = dice.choice([None, dice.randint(0, 60)])
        answers.append(await store.page(query, size=dice.randint(1, 9), after=after))
    return answers
