"""
Workload d: a control plane that dies by kill -9 with everything in flight, and comes back.

Belongs here: from the exec of the new process until its API answers, until every attempt was asked about, and until
those that ended in between are recorded. The engine's own ledger counts what was started: nothing may be sent again.
"""

from __future__ import annotations

import time
from pathlib import Path

from ledger_engine import LEDGER, entries, plugged
from load import Load
from measure import Contender, demand
from plane import Server

ENDED_PART = 10
"""Every so-manieth job ends while nobody is there."""


def contenders(jobs: int, peer_jobs: int) -> list[Contender]:
    """
    Our row and DBOS's.
    """
    goals = {"API s": "< 0.5", "all asked s": "< 1.5", "resubmits": "<= 0"}
    dbos = {"jobs": peer_jobs}
    return [
        Contender("d", f"standfast, {jobs} in flight", "regain", "after_kill", {"jobs": jobs}, goals),
        Contender("d", f"DBOS, {peer_jobs} pending", "peers.dbos_peer", "after_kill", dbos),
    ]


def after_kill(folder: str, jobs: int) -> tuple[dict[str, float], str]:
    """
    Submit, let everything run, kill, end some behind its back, start again.
    """
    ledger = Path(folder) / LEDGER
    plugins = plugged(Path(folder))
    server = Server(folder, engine="ledger", slots=jobs, plugins=plugins)
    server.start()
    with Load(server) as load:
        done = load.submit(jobs, clients=1, batch=100, engine="ledger", program={})
    demand(done.accepted == jobs, f"{done.accepted} accepted: {done.trouble}")
    _until(server, running=jobs)
    server.stop(kill=True)

    started = [what for kind, _, what in entries(ledger) if kind == "start"]
    demand(len(set(started)) == len(started) == jobs, "not every job started once before the kill")
    ended = started[::ENDED_PART]
    with ledger.open("a") as file:
        file.writelines(f"end {time.monotonic_ns()} {handle}\n" for handle in ended)
    known = len(entries(ledger))

    began_ns = time.monotonic_ns()
    answering_s = server.start()
    _until(server, running=jobs - len(ended), succeeded=len(ended))
    recorded_s = (time.monotonic_ns() - began_ns) / 1e9
    used = server.used()
    news = entries(ledger)[known:]
    server.stop()
    asked, asked_s = 0, 0.0
    for kind, ns, what in news:
        if kind == "asked" and asked < jobs:
            asked, asked_s = asked + int(what), (ns - began_ns) / 1e9
    demand(asked >= jobs, f"only {asked} were asked about")
    resubmits = sum(kind == "start" for kind, _, _ in news)
    figures = {"API s": answering_s, "all asked s": asked_s, "ends recorded s": recorded_s, "resubmits": resubmits}
    return figures | used, f"{jobs} started once, {len(ended)} ends found, {resubmits} sent again"


def _until(server: Server, *, patience_s: float = 120.0, **wanted: int) -> None:
    deadline = time.perf_counter() + patience_s
    while any(server.counts().get(phase, 0) != count for phase, count in wanted.items()):
        demand(time.perf_counter() < deadline, f"wanted {wanted}, have {server.counts()}")
        time.sleep(0.003)
