"""
A whole control plane in the caller's process: real API, real runtime, memory store, fake engine. For tests of clients.

Belongs here: starting it on a free port of this machine, and stopping it. Not here: what it is made of (`wiring`).
"""

from __future__ import annotations

import asyncio
import socket
import threading
from types import TracebackType
from typing import Any, Self

import uvicorn

from standfast import wiring
from standfast.settings import Settings

START_S = 20.0


class FakeServer:
    """
    A control plane at `url` for as long as the block lasts. Jobs go to engine `fake`; see its script for what they do.

    Example::

        with FakeServer() as server, Client(server.url) as sf:
            assert sf.jobs.run(Spec.fake(run_s=0.1)).wait().phase == "succeeded"
    """

    def __init__(self, **settings: Any) -> None:
        given: dict[str, Any] = {"store": "memory", "engines": ("fake",), "log_level": "error", **settings}
        self._settings = Settings(**given)
        self._ready = threading.Event()
        self._failed: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="fake-server", daemon=True)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.plane: wiring.Plane | None = None

    @property
    def url(self) -> str:
        """
        Where it listens.
        """
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(START_S):
            raise TimeoutError("the control plane did not start")
        if self._failed is not None:
            raise self._failed
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(START_S)
        self._listener.close()

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits for us
            self._failed = error
        finally:
            self._ready.set()

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with wiring.control_plane(self._settings) as plane:
            self.plane = plane
            config = uvicorn.Config(
                plane.app, lifespan="off", log_config=None, access_log=False, timeout_graceful_shutdown=1
            )
            server = uvicorn.Server(config)
            serving = asyncio.create_task(server.serve(sockets=[self._listener]))
            while not server.started and not serving.done():  # noqa: ASYNC110 - uvicorn tells nobody
                await asyncio.sleep(0.005)
            self._ready.set()
            await self._stop.wait()
            server.should_exit = True
            await serving
