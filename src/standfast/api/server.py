"""
The control plane about itself over HTTP: health, engines, counters, problems, metrics.
"""

from __future__ import annotations

import asyncio

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from standfast.api.auth import Caller
from standfast.api.problems import CATALOGUE, ProblemKinds, invalid_query
from standfast.api.reading import words
from standfast.api.route import Desk
from standfast.api.sending import document
from standfast.core.errors import NotFound, StandfastError, Unavailable
from standfast.core.job.state import Phase
from standfast.ports.engine import Engine
from standfast.ports.store import Slot
from standfast.wire import public

REACH_S = 3.0
"""Longest wait for an engine that is asked whether it answers."""

GROUPS = ("namespace", "engine", "queue", "phase")


async def health(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    GET /healthz: this process answers.
    """
    return PlainTextResponse("ok\n")


async def ready(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    GET /readyz: the store answers and the loop works.
    """
    trouble = desk.trouble()
    if trouble is not None:
        raise Unavailable(trouble)
    await desk.world.catalogue.newest_seq()
    return PlainTextResponse("ready\n")


async def counts(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    GET /v1/counts.
    """
    by = words(request, "by") or ("phase",)
    unknown = [word for word in by if word not in GROUPS]
    if unknown:
        raise invalid_query("by", f"no group {unknown[0]!r}; there are {', '.join(GROUPS)}")
    return document(public.to_counts(await desk.world.catalogue.slots(), by))


async def engines(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    GET /v1/engines.
    """
    slots = await desk.world.catalogue.slots()
    told = await asyncio.gather(*(_engine(desk, engine, slots) for engine in desk.world.engines.values()))
    return document(public.Engines(items=list(told)))


async def problems(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    GET /v1/problems.
    """
    return document(ProblemKinds(items=list(CATALOGUE.values())))


async def problem(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    GET /v1/problems/{code}.
    """
    row = CATALOGUE.get(request.path_params["code"])
    if row is None:
        raise NotFound(f"there is no code {request.path_params['code']}")
    return document(row)


async def metrics(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    GET /metrics, in the text format of Prometheus.
    """
    gauge = desk.metrics.jobs
    gauge.clear()
    sums: dict[tuple[str, str, str], int] = {}
    for slot in await desk.world.catalogue.slots():
        key = (slot.engine, slot.queue, slot.phase.value)
        sums[key] = sums.get(key, 0) + slot.count
    for key, count in sums.items():
        gauge.labels(*key).set(count)
    return Response(generate_latest(desk.metrics.registry), media_type=CONTENT_TYPE_LATEST)


async def doctor(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    GET /v1/doctor: every check with its verdict, and what to do.
    """
    slots = await desk.world.catalogue.slots()
    told = await asyncio.gather(*(_engine(desk, engine, slots) for engine in desk.world.engines.values()))
    trouble = desk.trouble()
    checks = [_check("loop", trouble is None, trouble or "works", "See the server's log.")]
    checks += [
        _check(f"engine {one.name}", one.reachable, one.trouble or "answers", "See whether the engine is up.")
        for one in told
    ]
    homeless = {s.engine for s in slots if not s.phase.final and s.engine not in desk.world.engines}
    checks += [
        _check(
            f"engine {name}", False, "has unfinished jobs, and is not configured here", "Start with this engine too."
        )
        for name in sorted(homeless)
    ]
    unsure = sum(slot.count for slot in slots if slot.phase is Phase.UNCERTAIN)
    hint = "standfast get jobs --phase uncertain, then standfast explain"
    checks.append(_check("uncertain jobs", unsure == 0, f"{unsure} uncertain", hint))
    return document(public.Doctor(ok=all(check.ok for check in checks), checks=checks))


async def description(desk: Desk, request: Request, caller: Caller) -> Response:
    """
    GET /openapi.json.
    """
    return Response(desk.description(), media_type="application/json")


def _check(name: str, good: bool, message: str, hint: str) -> public.Check:
    return public.Check(name=name, ok=good, message=message, hint=None if good else hint)


async def _engine(desk: Desk, engine: Engine, slots: list[Slot]) -> public.EngineAnswer:
    incarnation = trouble = None
    try:
        async with asyncio.timeout(REACH_S):
            incarnation = await engine.incarnation()
    except StandfastError as error:
        trouble = error.message
    except TimeoutError:
        trouble = f"no answer in {REACH_S:g} s"
    mine = [slot for slot in slots if slot.engine == engine.name]
    return public.EngineAnswer(
        name=engine.name,
        capabilities=sorted(engine.capabilities),
        slots=desk.world.limits.of_engine(engine.name),
        active=sum(slot.count for slot in mine if slot.phase.holds_slot),
        queued=sum(slot.count for slot in mine if slot.phase is Phase.QUEUED),
        reachable=trouble is None,
        incarnation=incarnation,
        trouble=trouble,
    )
