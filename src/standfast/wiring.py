"""
The composition root: settings in, a running control plane out. The only place that names a concrete adapter.

Belongs here: which adapter serves which port, and the order of start and stop. Not here: anything that could be tested
without wiring.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import structlog
import uvicorn

from standfast.api.app import Api, build_app
from standfast.api.auth import Tokens
from standfast.api.head import BoundedHttp
from standfast.core.errors import FieldError, InvalidSpec
from standfast.ports.blobs import Blobs
from standfast.ports.clock import Clock
from standfast.ports.engine import Build, Engine, EngineContext
from standfast.ports.ids import Ids
from standfast.ports.store import Catalogue, JobStore
from standfast.runtime.around import around
from standfast.runtime.failpoints import ENGINE_CALLS, STORE_CALLS, Failpoints
from standfast.runtime.intake import Intake
from standfast.runtime.loop import Loop
from standfast.runtime.telemetry import EngineHook, Metrics, StoreHook
from standfast.runtime.world import World
from standfast.settings import Settings
from standfast.system.clock import SystemClock
from standfast.system.ids import SystemIds
from standfast.system.leaving import Leaving
from standfast.system.wakeups import LoopWakeups

ENGINES: Mapping[str, str] = {
    "fake": "standfast.engines.fake:build",
    "process": "standfast.engines.process:build",
    "spark": "standfast.engines.spark:build",
}
"""Our own engines; others come by the entry-point group."""

GROUP = "standfast.engines"


@dataclass(frozen=True)
class Plane:
    """
    One running control plane.
    """

    settings: Settings
    world: World
    intake: Intake
    loop: Loop
    app: Api
    metrics: Metrics


@asynccontextmanager
async def control_plane(settings: Settings) -> AsyncIterator[Plane]:
    """
    A control plane that works for as long as the block lasts; what runs on engines goes on after it.

    Raises:
        InvalidSpec: A setting cannot be used. Unavailable: The store is held by another process, or unreadable.
    """
    configure_logging(settings)
    clock, ids, metrics = SystemClock(), SystemIds(), Metrics()
    points = Failpoints.from_environment()
    stored, blobs = _open_store(settings, clock, points)
    store = around(cast(JobStore, stored), StoreHook(metrics, "store"))
    engines = {name: around(e, EngineHook(metrics, name)) for name, e in _engines(settings, clock, ids).items()}
    if points is not None:
        store = around(store, points, STORE_CALLS)
        engines = {name: around(engine, points, ENGINE_CALLS) for name, engine in engines.items()}
    world = World(
        store=store,
        catalogue=cast(Catalogue, stored),
        engines=engines,
        clock=clock,
        ids=ids,
        wakeups=LoopWakeups(clock),
        blobs=blobs,
        limits=settings.limits,
    )
    loop = Loop(world)
    intake = Intake(world, loop)
    app = build_app(
        world,
        intake,
        tokens=_tokens(settings),
        ready=lambda: loop.trouble,
        waiting=loop.waiting,
        metrics=metrics,
        body_bytes_max=settings.body_bytes_max,
        requests_per_s=settings.requests_per_s,
    )
    try:
        await loop.start()
        try:
            yield Plane(settings, world, intake, loop, app, metrics)
        finally:
            await loop.stop()
    finally:
        await stored.close()


class Server(uvicorn.Server):
    """
    uvicorn's server without signals of its own: they mean something before it serves and after, too (`Leaving`).
    """

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """
        Nothing. uvicorn's own way would put the default back afterwards, which kills with the store still open.
        """
        yield


async def serve(settings: Settings) -> None:
    """
    Serve the API until SIGTERM or SIGINT, then finish what is under way and go.

    Raises:
        InvalidSpec: A setting cannot be used, such as an open address without tokens. OSError: The address is taken.
    """
    host, port = settings.address
    _refuse_open_door(settings, host)
    listener = socket.create_server(
        (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=512
    )
    with Leaving() as leaving, listener:
        async with control_plane(settings) as plane:
            config = uvicorn.Config(
                plane.app,
                http=BoundedHttp,
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=int(settings.drain_s) + 1,
            )
            log = structlog.get_logger(__name__)
            log.info("listening", address=f"http://{host}:{listener.getsockname()[1]}", state=str(settings.state_path))
            # What was built at the start lives as long as the process: keep the collector from walking it ever.
            gc.freeze()
            gc.set_threshold(20_000, 50, 100)
            gc.enable()
            server = Server(config)

            def drain(number: int) -> None:
                # Streams go first, because nobody waits for a reader.
                plane.app.end_streams()
                server.handle_exit(number, None)

            leaving.drain = drain
            await server.serve(sockets=[listener])


def run(settings: Settings) -> None:
    """
    `serve` on the quickest event loop there is.
    """
    try:
        import uvloop
    except ImportError:
        asyncio.run(serve(settings))
    else:
        uvloop.run(serve(settings))


def configure_logging(settings: Settings) -> None:
    """
    Structured logs on stderr, at the level and in the format of the settings.
    """
    level = logging.getLevelNamesMapping().get(settings.log_level.upper())
    if level is None:
        raise InvalidSpec([FieldError("/log_level", "malformed", "must be debug, info, warning or error")])
    renderer: Any = structlog.processors.JSONRenderer()
    if settings.log_format == "text":
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(level=max(level, logging.WARNING), stream=sys.stderr)


def _open_store(settings: Settings, clock: Clock, points: Failpoints | None) -> tuple[Any, Blobs]:
    if settings.store == "memory":
        from standfast.stores.memory.blobs import MemoryBlobs
        from standfast.stores.memory.store import MemoryStore

        return MemoryStore(), MemoryBlobs()
    if settings.store == "sqlite":
        from standfast.stores.sqlite.blobs import FileBlobs
        from standfast.stores.sqlite.store import SqliteStore

        folder = settings.state_path
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / "standfast.db"
        store = SqliteStore(path, clock) if points is None else SqliteStore(path, clock, failpoint=points.hit)
        return store, FileBlobs(folder / "blobs")
    raise InvalidSpec([FieldError("/store", "unknown_store", f"{settings.store!r} is neither sqlite nor memory")])


def _engines(settings: Settings, clock: Clock, ids: Ids) -> dict[str, Engine]:
    """
    The engines that the settings name, each with a folder of its own.
    """
    engines: dict[str, Engine] = {}
    for name in settings.engines:
        if name in ENGINES:
            module, _, function = ENGINES[name].partition(":")
            build = cast(Build, getattr(import_module(module), function))
        else:
            build = _plugged(name)
        options = settings.engine_options.get(name, {})
        context = EngineContext(_engine_folder(settings, name), clock, ids, settings.launches, options)
        engines[name] = build(context)
    return engines


def _plugged(name: str) -> Build:
    """
    The engine of that name that another package brings; every installed one is looked through for it.
    """
    from importlib.metadata import entry_points

    plugged = {point.name: point for point in entry_points(group=GROUP)}
    if name not in plugged:
        known = ", ".join(sorted({*ENGINES, *plugged}))
        raise InvalidSpec([FieldError("/engines", "unknown_engine", f"no engine {name!r}; there are: {known}")])
    return cast(Build, plugged[name].load())


def _engine_folder(settings: Settings, name: str) -> Path:
    return settings.state_path / "engines" / name


def _tokens(settings: Settings) -> Tokens | None:
    return None if settings.tokens_file is None else Tokens.load(Path(settings.tokens_file).expanduser())


def _refuse_open_door(settings: Settings, host: str) -> None:
    """
    Refuse to be reachable from elsewhere by people without a token.
    """
    try:
        addresses = {info[4][0] for info in socket.getaddrinfo(host, None)}
    except OSError as error:
        raise InvalidSpec([FieldError("/listen", "malformed", f"{host}: {error}")]) from error
    local = all(str(address).startswith("127.") or address == "::1" for address in addresses)
    if not local and settings.tokens_file is None:
        raise InvalidSpec(
            [FieldError("/listen", "open_door", f"{host} is reachable from elsewhere, and no tokens_file is set")],
            hint="Make one with `standfast token create`, or listen on 127.0.0.1.",
        )
