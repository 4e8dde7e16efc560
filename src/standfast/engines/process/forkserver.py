"""
The fork server: a process that has the keeper's code in memory and forks keepers from it, three times as fast.

Belongs here: the server's side only, standard library only; spawner.py is the control plane's. It keeps no state and
is nobody's parent for longer than a moment: every keeper leaves it by its own double fork. It may die at any time, and
ends by itself when the control plane's end of the channel is closed, by whatever death.

One request is one message on a SOCK_SEQPACKET pair: the handle, with two descriptors, stdin and stdout of the keeper.
There is no answer: the keeper's ack is the answer, and the end of its pipe without one means that nobody will come.
"""

from __future__ import annotations

import array
import ctypes
import gc
import os
import signal
import socket

import keeper  # type: ignore[import-not-found]  # By path, like the keeper itself: nothing of ours is installed here.

COOKIE = b"STANDFAST_KEEPER="
HANDLE_BYTES = 100
PLACEHOLDER = b"." * HANDLE_BYTES


def environment_address() -> int:
    """
    Where this process keeps the value of its one variable, the placeholder; 0 if it is not found there.

    Source: proc(5), /proc/PID/stat fields 50 and 51, env_start and env_end; what is there is what environ shows.
    """
    with open("/proc/self/stat", "rb") as file:  # noqa: PTH123
        fields = file.read().rpartition(b")")[2].split()
    start, end = int(fields[47]), int(fields[48])
    expected = COOKIE + PLACEHOLDER + b"\0"
    if not start or end - start < len(expected) or ctypes.string_at(start, len(expected)) != expected:
        return 0
    return start + len(COOKIE)


def warm_up() -> None:
    """
    Run what every keeper runs, so that the interpreter rewrites its code and fills its caches here, once, and not in
    pages that each keeper then has to copy: half of a launch is page faults.
    """
    spec = {"handle": "a", "argv": ["/bin/true"], "env": {"A": "b"}, "rlimits": {"core": (0, 0)}, "nice": None}
    body = keeper.json.dumps(spec).encode()
    for _ in range(20):
        reading, writing = os.pipe()
        os.write(writing, b"%d %d\n" % (len(body), keeper.zlib.crc32(body)) + body)
        os.close(writing)
        keeper.read_payload(reading)
        os.close(reading)
        keeper.render({"oom": keeper.oom_kills(), "pidns": keeper.pid_namespace(), **keeper.clocks()})
        keeper.stat_of("self")
        keeper.ignored_signals()
        keeper.encoded("a")
        keeper.Keeper({**spec, "stop_grace_s": 1.0, "straggler_grace_s": 1.0}, -1, -1).leaving()
        signal.pthread_sigmask(signal.SIG_SETMASK, ())


def serve(channel: socket.socket) -> None:
    """
    Fork a keeper for every message until the channel ends; never returns in a child.
    """
    address = environment_address()
    if not address:
        return  # Keepers in flight could not be found by their environment; a plain start is the better choice.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # The kernel reaps; keepers set it back before they fork.
    warm_up()
    gc.collect()
    gc.freeze()
    while True:
        try:
            handle, ancillary, _, _ = channel.recvmsg(HANDLE_BYTES, socket.CMSG_SPACE(8))
        except OSError:
            return
        if not handle:
            return
        fds = array.array("i")
        for _, _, data in ancillary:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
        try:
            child = os.fork() if len(fds) == 2 else -1
        except OSError:
            child = -1  # The launcher sees its ack pipe end.
        if child == 0:
            try:
                if os.fork():
                    os._exit(0)  # At once: what this one does not touch need not be copied.
                channel.close()
                ctypes.memmove(address, handle.ljust(HANDLE_BYTES, b"\0"), HANDLE_BYTES)
                for number, fd in enumerate(fds):
                    os.dup2(fd, number)
                    os.close(fd)
                spec = keeper.read_payload(0)
                if spec is not None:
                    keeper.settle(spec)
            finally:
                os._exit(3)  # A child must never come back to this loop.
        for fd in fds:
            os.close(fd)


def main() -> None:
    """
    Entry: the channel is stdin.
    """
    channel = socket.socket(fileno=os.dup(0))
    null = os.open("/dev/null", os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    os.close(null)
    serve(channel)
    os._exit(0)
