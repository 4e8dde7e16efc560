"""
A control plane inside this process, on the state folder, for when no server is configured and while the verb runs.

Belongs here: finding the control plane that already holds the folder, or starting one in a thread behind a socket in
that folder. Not here: what a control plane is made of (`standfast.wiring`), or talking to it (`session`).

The jobs do not depend on it: the process engine keeps them, and the next verb on the same folder finds them again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from standfast.cli.exits import Exit, Quit
from standfast.core.errors import StandfastError, Unavailable
from standfast.settings import Settings

SOCKET = "api.sock"
START_S = 30.0
HOLDER_S = 5.0
"""How long to wait for a process that holds the folder to answer for it, or to let it go."""
SOCKET_PATH_BYTES_MAX = 107
"""Longest address of a Unix socket. Source: unix(7), sun_path of 108 bytes with its closing zero."""


@dataclass(frozen=True)
class Reached:
    """
    How to talk to the control plane of a state folder: by its socket, or by its address.

    ensure: to be called when nobody answers there any more; starts a control plane here if the folder is free.
    """

    server: str
    socket: str | None
    folder: Path
    ensure: Callable[[], None]


@contextmanager
def reach(given: dict[str, Any] | None = None) -> Iterator[Reached]:
    """
    The control plane of the state folder, started here if nobody runs one, for the length of the block.

    Raises:
        Quit: Settings are wrong, or somebody holds the folder who does not answer.
    """
    try:
        settings = Settings.load({"log_level": os.environ.get("STANDFAST_LOG_LEVEL", "error"), **(given or {})})
        folder = _Folder(settings)
        folder.ensure()
        try:
            yield Reached(folder.server, folder.socket, settings.state_path, folder.ensure)
        finally:
            folder.leave()
    except StandfastError as error:
        code = Exit.TROUBLE if isinstance(error, Unavailable) else Exit.USAGE
        raise Quit(code, error.message, name=error.code, hint=error.hint) from error


class _Folder:
    """
    A state folder, and the control plane that this process runs on it, if it does.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._path = settings.state_path / SOCKET
        self._plane: _Plane | None = None
        self._lock = threading.Lock()
        self.server = "http://standfast"
        self.socket: str | None = str(self._path)

    def ensure(self) -> None:
        """
        Return once somebody answers for the folder, this process if need be.

        Raises:
            StandfastError: Nobody does, and it cannot be started here.
        """
        with self._lock:
            end = time.monotonic() + HOLDER_S
            while self._plane is None and not _answers(self._path):
                plane = _Plane(self._settings, self._path)
                try:
                    plane.start()
                except Unavailable as error:
                    # Whoever holds the folder is about to answer for it, or about to go.
                    if error.code != "store_held" or self._listens() or time.monotonic() > end:
                        if self.socket is None:
                            return
                        raise
                    time.sleep(0.1)
                else:
                    self._plane = plane

    def leave(self) -> None:
        """
        Stop what this process runs on it.
        """
        if self._plane is not None:
            self._plane.stop()

    def _listens(self) -> bool:
        """
        Whether the process that holds the folder is a server that listens where the settings say.
        """
        host, port = self._settings.address
        try:
            with socket.create_connection((host, port), timeout=1.0):
                self.server, self.socket = f"http://{host}:{port}", None
                return True
        except OSError:
            return False


class _Plane:
    """
    The control plane's own thread and event loop, so that Ctrl-C reaches the verb and not the server.
    """

    def __init__(self, settings: Settings, path: Path) -> None:
        self._settings = settings
        self.path = path
        self._ready = threading.Event()
        self._failed: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="control-plane", daemon=True)

    def start(self) -> None:
        """
        Return once it answers.

        Raises:
            StandfastError: It could not start.
        """
        self._thread.start()
        if not self._ready.wait(START_S):
            raise Unavailable(f"the control plane did not start within {START_S:.0f}s", code="not_started")
        if self._failed is not None:
            raise self._failed

    def stop(self) -> None:
        """
        Let it finish what is under way; what runs on engines goes on.
        """
        if self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(self._settings.drain_s + 5)

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits for us
            self._failed = error
        finally:
            self._ready.set()

    async def _main(self) -> None:
        import uvicorn

        from standfast import wiring

        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with wiring.control_plane(self._settings) as plane:
            # Requests of other verbs that our going cuts off are repeated by them; nobody needs to read of it here.
            logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
            with _listener(self.path) as listener:
                server = uvicorn.Server(
                    uvicorn.Config(
                        plane.app, lifespan="off", log_config=None, access_log=False, timeout_graceful_shutdown=1
                    )
                )
                serving = asyncio.create_task(server.serve(sockets=[listener]))
                while not server.started and not serving.done():  # noqa: ASYNC110 - uvicorn tells nobody
                    await asyncio.sleep(0.005)
                self._ready.set()
                await self._stop.wait()
                server.should_exit = True
                await serving


@contextmanager
def _listener(path: Path) -> Iterator[socket.socket]:
    """
    A socket that only this user can reach; the folder is held, so a file in its place is a dead one's.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if len(os.fsencode(path)) > SOCKET_PATH_BYTES_MAX:
        raise Unavailable(f"{path} is too long for a socket", code="path_too_long", hint="Use a shorter state folder.")
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen(128)
        try:
            yield listener
        finally:
            with contextlib.suppress(FileNotFoundError):
                path.unlink()


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except OSError:
            return False
        return True
