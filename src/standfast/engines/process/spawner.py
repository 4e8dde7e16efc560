"""
The spawner: starts the keeper's first process, from a fork server where there is one, else plainly.

Belongs here: processes and pipes. Does not belong here: what goes over them (launcher.py). Both ways give the same
keepers, files and guarantees; the server is only faster, and its loss only slower.
"""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Final

# Seen in /proc/PID/environ of keepers; not the name that jobs carry, so that a keeper in flight is never taken for one.
KEEPER_COOKIE: Final = "STANDFAST_KEEPER"
# Longer than any handle and with a character none has: forked keepers write theirs over it.
PLACEHOLDER: Final = "." * 100
STRIKES_MAX: Final = 3

# Isolated, without site packages; the folder is appended, so that nothing in it can shadow the standard library.
_PYTHON: Final = (sys.executable, "-I", "-S", "-E", "-X", "utf8", "-c")
_FOLDER: Final = str(Path(__file__).parent)
KEEPER_ARGV = (*_PYTHON, "import sys; sys.path.append(sys.argv[1]); import keeper; keeper.main()", _FOLDER)
SERVER_ARGV = (*_PYTHON, "import sys; sys.path.append(sys.argv[1]); import forkserver; forkserver.main()", _FOLDER)


class Silence(Exception):
    """
    The keeper's first process gave no answer; `detail`: the end of what it left on stderr, at most 2,000 characters.
    """

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class Spawner:
    """
    Starts keepers; safe to use from many threads. Close it when the control plane ends.

    fork_server: False starts every keeper plainly, 30 ms each instead of 10.
    """

    def __init__(self, *, fork_server: bool = True) -> None:
        self._lock = threading.Lock()
        self._strikes = 0 if fork_server else STRIKES_MAX
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None

    def ask(self, handle: str, payload: int, timeout_s: float) -> bytes:
        """
        Start a keeper that reads `payload`, a descriptor of a file in memory, and return its one line.

        Raises:
            Silence: No line came within `timeout_s`. The keeper may be anywhere: observe.
            OSError: Nothing could be started.
        """
        channel = self._server()
        if channel is not None:
            line = self._ask_server(channel, handle, payload, timeout_s)
            if line is not None:
                return line
        return _ask_plainly(handle, payload, timeout_s)

    def close(self) -> None:
        """
        End the fork server, if there is one; keepers do not notice.
        """
        with self._lock:
            self._strikes = STRIKES_MAX
            self._drop()

    @property
    def server_pid(self) -> int | None:
        """
        The fork server's, while one is up.
        """
        process = self._process
        return None if process is None else process.pid

    def _server(self) -> socket.socket | None:
        """
        The channel to a server, started when there is none; None when servers keep dying before they did anything.
        """
        with self._lock:
            if self._process is not None and self._process.poll() is not None:
                self._strikes += 1
                self._drop()
            if self._process is None and self._strikes < STRIKES_MAX:
                ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                with theirs:
                    self._process = subprocess.Popen(
                        SERVER_ARGV,
                        stdin=theirs.fileno(),
                        stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL,
                        env={KEEPER_COOKIE: PLACEHOLDER},
                        cwd="/",
                        start_new_session=True,
                    )
                ours.settimeout(1.0)
                self._channel = ours
            return self._channel

    def _drop(self) -> None:
        if self._channel is not None:
            self._channel.close()
        if self._process is not None:
            # Killed, not asked: it holds nothing that could be lost, and it may be frozen.
            self._process.kill()
            self._process.wait()
        self._channel = self._process = None

    def _lose(self, channel: socket.socket) -> None:
        with self._lock:
            if self._channel is channel:
                self._strikes += 1
                self._drop()

    def _send(self, channel: socket.socket, handle: str, *fds: int) -> bool:
        # Under the lock, so that nobody closes the channel meanwhile and its number goes to another socket.
        with self._lock:
            if self._channel is not channel:
                return False
            try:
                socket.send_fds(channel, [handle.encode()], fds)
            except OSError:
                return False
            return True

    def _ask_server(self, channel: socket.socket, handle: str, payload: int, timeout_s: float) -> bytes | None:
        """
        The keeper's line by way of the server; None when the plain way is to be taken.
        """
        reading, writing = os.pipe()
        try:
            stdin = _opened_again(payload)
            try:
                sent = self._send(channel, handle, stdin, writing)
            finally:
                os.close(stdin)
                os.close(writing)
            line = read_line(reading, time.monotonic() + timeout_s) if sent else b""
        finally:
            os.close(reading)
        if line:
            self._strikes = 0
            return line
        process = self._process
        if line is None or not sent or process is None or process.poll() is not None:
            self._lose(channel)
        if line is None:
            raise Silence(f"no answer in {timeout_s:g} s")
        # The server died with our message, or the keeper did. A second keeper for a handle is free: one can link.
        return None


def _ask_plainly(handle: str, payload: int, timeout_s: float) -> bytes:
    stdin = _opened_again(payload)
    try:
        process = subprocess.Popen(
            KEEPER_ARGV,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={KEEPER_COOKIE: handle},
            cwd="/",
            start_new_session=True,
        )
    finally:
        os.close(stdin)
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        line = read_line(process.stdout.fileno(), time.monotonic() + timeout_s)
        # It leaves as soon as it has forked. If it has not, it has claimed nothing yet and may go.
        try:
            process.wait(timeout=timeout_s if line else 0.5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if not line:
            os.set_blocking(process.stderr.fileno(), False)
            raise Silence((process.stderr.read() or b"").decode(errors="replace")[-2000:])
    return line


def _opened_again(payload: int) -> int:
    """
    A descriptor with an offset of its own, so that a second keeper does not continue where a first one is.
    """
    return os.open(f"/proc/self/fd/{payload}", os.O_RDONLY | os.O_CLOEXEC)


def read_line(fd: int, deadline: float) -> bytes | None:
    """
    Read one line from a pipe; b"" when it ends before the newline, None at the monotonic `deadline`.
    """
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    line = b""
    while not line.endswith(b"\n"):
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            return None
        chunk = os.read(fd, 4096)
        if not chunk:
            return b""
        line += chunk
    return line
