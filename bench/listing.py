"""
Workload g: lists and counts over a store of a million jobs, over HTTP.

Belongs here: filling such a store quickly, and asking it. It is filled through the store's own door, but with every job
in its last state at once: how it got there is workload b, and reading is the same afterwards.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
from load import Load
from measure import Contender, demand, latencies
from plane import LABELS, Server, submission

from standfast.core.job.attempt import handle_of
from standfast.core.job.evidence import Ending, Finding, Rank, Verdict
from standfast.core.job.inputs import Admit, Cancel, Submit
from standfast.core.job.machine import Step, step
from standfast.core.job.observation import Ended
from standfast.core.job.state import Job
from standfast.stores.sqlite.store import SqliteStore
from standfast.system.clock import SystemClock
from standfast.system.ids import SystemIds

TIMES = 200
CHUNK = 2_000

PATHS = {
    "newest 50": "page_size=50",
    "by phase, common": "page_size=50&phase=succeeded",
    "by phase, rare": "page_size=50&phase=failed",
    "by label, common": "page_size=50&label=team%3Dpayments",
    "by label, rare": "page_size=50&label=run%3D7",
    "by rare label and phase": "page_size=50&label=run%3D100&phase=failed",
    "by label and phase, none fit": "page_size=50&label=team%3Dpayments&phase=failed",
    "by name prefix, common": "page_size=50&name_prefix=settle-1",
    "by name prefix, rare": "page_size=50&name_prefix=settle-one-7",
    "by name prefix, none": "page_size=50&name_prefix=nothing-like-it",
}


def contenders(jobs: int) -> list[Contender]:
    """
    Our row; no peer lists a million jobs by label.
    """
    goals = {f"{name}, p99 ms": "< 20" for name in (*PATHS, "half a million deep", "counts")}
    return [Contender("g", f"standfast, {jobs} jobs stored", "listing", "asked", {"jobs": jobs}, goals, rounds=1)]


def asked(folder: str, jobs: int) -> tuple[dict[str, float], str]:
    """
    Each list 200 times over one connection, one after another.
    """
    middle = asyncio.run(_fill(Path(folder) / "standfast.db", jobs))
    server = Server(folder)
    server.start()
    figures: dict[str, float] = {}
    token = server.get(f"/v1/jobs?page_size=50&created_before={middle:%Y-%m-%dT%H:%M:%S}Z")["next_page_token"]
    deep = f"page_size=50&created_before={middle:%Y-%m-%dT%H:%M:%S}Z&page_token={token}"
    paths = {name: f"/v1/jobs?{query}" for name, query in (PATHS | {"half a million deep": deep}).items()}
    paths["counts"] = "/v1/counts?by=phase"
    with Load(server) as load:
        for name, path in paths.items():
            done = load.get([path] * TIMES)
            demand(done.accepted == TIMES, f"{path}: {done.trouble}")
            figures |= latencies(done.taken, prefix=f"{name}, ")
    counts = server.counts()
    demand(sum(counts.values()) == jobs, f"counted {counts}")
    rare = len(server.get("/v1/jobs?page_size=1000&label=run%3D7")["items"])
    demand(rare == len(range(7, jobs, 10_000)), f"{rare} found by the rare label")
    figures |= server.used()
    server.stop()
    return figures, f"counts say {counts}; {rare} found by the rare label"


async def _fill(path: Path, jobs: int) -> datetime:
    """
    Store the jobs, and return when the middle one was made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    clock = SystemClock()
    store = SqliteStore(path, clock)
    await store.begin(clock.now())
    first_at = clock.now() - timedelta(seconds=jobs)
    steps = _steps(jobs, first_at, SystemIds())
    for _ in range(0, jobs, CHUNK):
        some = [one for _, one in zip(range(CHUNK), steps, strict=False)]
        answers = await store.commit(some)
        demand(all(isinstance(answer, Job) for answer in answers), "a job was not stored")
    await store.close()
    return first_at + timedelta(seconds=jobs // 2)


def _steps(jobs: int, first_at: datetime, ids: SystemIds) -> Iterator[Step]:
    """
    One job a second, each already at its end: 98 of 100 succeeded, one failed, one cancelled.
    """
    ends = [_ended(Ending.SUCCEEDED, first_at), _ended(Ending.FAILED, first_at), _cancelled(first_at)]
    for number in range(jobs):
        last = ends[{0: 1, 50: 2}.get(number % 100, 0)]
        uid, at = ids.job_uid(), first_at + timedelta(seconds=number)
        job = msgspec.structs.replace(
            last.after,
            uid=uid,
            name=f"settle-one-{number % 10_000}" if number % 10 == 0 else f"settle-{number % 97:02}-accounts",
            request_id=f"request-{number:012}",
            labels={**LABELS, "run": str(number % 10_000)} if number % 2 else {"run": str(number % 10_000)},
            created_at=at,
            phase_since=at,
            updated_at=at,
            finished_at=at,
            attempts=tuple(msgspec.structs.replace(a, handle=handle_of(uid, a.number)) for a in last.after.attempts),
        )
        yield Step(None, last.events, job, last.action, at)


def _submitted(at: datetime) -> Step:
    one = submission(0)
    given = Submit(
        uid="job_x", namespace="default", name=one.name, request_id="x", digest="sha256:x", spec=one.spec, by="bench"
    )
    return step(None, given, at)


def _ended(ending: Ending, at: datetime) -> Step:
    running = step(_submitted(at).after, Admit(incarnation="fake-1"), at).after
    found = (Finding(rank=Rank.EXIT_STATUS, ending=ending, source="fake.exit_status"),)
    seen = {"at": at, "by": "fake.look", "incarnation": "fake-1", "findings": found, "gone": Verdict.PROVEN}
    return step(running, Ended(**seen, gone_source="fake", started_at=at, ended_at=at), at)


def _cancelled(at: datetime) -> Step:
    return step(_submitted(at).after, Cancel(by="bench"), at)
