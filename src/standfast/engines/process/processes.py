"""
The process table of this machine: what is alive, below whom, and which of it belongs to an attempt.

Belongs here: reading /proc and signalling one process safely. Does not belong here: what a find means (observe.py),
or whom to stop (stop.py). A process that cannot be read is left out; a zombie is dead.

Source: proc(5); pidfd_open(2), Linux 5.3.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator

import msgspec

from standfast.engines.process.launcher import JOB_COOKIE
from standfast.engines.process.root import Root
from standfast.engines.process.spawner import KEEPER_COOKIE
from standfast.engines.process.ticket import Started

DEAD_STATES = "ZXx"


class Process(msgspec.Struct, frozen=True):
    """
    One process at the instant it was read; start: clock ticks since boot; state: one letter, D, R, S, T and so on.
    """

    pid: int
    parent: int
    session: int
    start: int
    state: str
    name: str


class Survivor(msgspec.Struct, frozen=True):
    """
    A process that belongs to an attempt, and by which marks: main, session, environment, log, below.

    sure: it may be signalled. A session number alone is not enough once its leader is gone: it may have been reused.
    """

    process: Process
    marks: tuple[str, ...]
    sure: bool


class Found(msgspec.Struct, frozen=True):
    """
    What one scan found; keepers: pids of keepers for this handle, some of which may not have claimed anything yet.
    """

    survivors: tuple[Survivor, ...]
    keepers: tuple[int, ...]


def read(pid: int | str) -> Process | None:
    """
    One process; None when there is none, or it is not ours to read.
    """
    try:
        data = _slurp(f"/proc/{pid}/stat", 4096)
    except OSError:
        return None
    before, _, after = data.rpartition(b")")
    number, _, name = before.partition(b" (")
    fields = after.split()
    if len(fields) < 20:
        return None
    return Process(
        int(number),
        int(fields[1]),
        int(fields[3]),
        int(fields[19]),
        fields[0].decode(),
        name.decode(errors="replace"),
    )


def alive() -> Iterator[Process]:
    """
    Every living process, one after the other: what is born meanwhile may be missing.
    """
    for name in os.listdir("/proc"):  # noqa: PTH208 -- 130 Path objects cost more than the scan.
        if name.isdigit():
            process = read(name)
            if process is not None and process.state not in DEAD_STATES:
                yield process


def search(root: Root, handle: str, started: Started | None) -> Found:
    """
    Look through all processes for marks of an attempt; some 10 µs a process.

    A process that left the session, dropped its environment and its output at once is not found: nothing found is not
    a proof.
    """
    logs = _logs(root, handle, started)
    tail = tuple(f"/{handle}/{name}{end}" for name in ("stdout", "stderr") for end in ("", " (deleted)"))
    job, keeper = (f"{name}={handle}".encode() for name in (JOB_COOKIE, KEEPER_COOKIE))
    processes = list(alive())
    leader = next((p for p in processes if started and p.pid == started.main), None)
    reused = leader is not None and started is not None and leader.start != started.main_start
    survivors = []
    keepers = []
    for process in processes:
        environment = _environment(process.pid)
        marks = []
        if started and (process.pid, process.start) == (started.main, started.main_start):
            marks.append("main")
        if started and process.session == started.main and not reused:
            marks.append("session")
        if job in environment:
            marks.append("environment")
        if _writes(process.pid, logs, tail):
            marks.append("log")
        if marks:
            sure = marks != ["session"] or leader is not None
            survivors.append(Survivor(process, tuple(marks), sure))
        elif keeper in environment:
            keepers.append(process.pid)
    return Found(tuple(survivors), tuple(keepers))


def below(ancestors: Iterable[int]) -> tuple[Survivor, ...]:
    """
    Every living descendant of some processes, without themselves.
    """
    children: dict[int, list[Process]] = {}
    for process in alive():
        children.setdefault(process.parent, []).append(process)
    known = set(ancestors)
    waiting = list(known)
    found = []
    while waiting:
        for process in children.get(waiting.pop(), ()):
            if process.pid not in known:
                known.add(process.pid)
                found.append(Survivor(process, ("below",), sure=True))
                waiting.append(process.pid)
    return tuple(found)


def send(pid: int, start: int, *signals: signal.Signals) -> bool:
    """
    Send signals, in order, to the process with this pid and start time; False when it is gone or not ours to signal.

    The pidfd is opened before the check, so what was checked gets the signals, or nobody does.
    """
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        process = read(pid)
        if process is None or process.start != start or process.state in DEAD_STATES:
            return False
        for number in signals:
            signal.pidfd_send_signal(pidfd, number)
    except OSError:
        return False
    finally:
        os.close(pidfd)
    return True


def _slurp(path: str, limit_bytes: int) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, limit_bytes)
    finally:
        os.close(fd)


def _environment(pid: int) -> frozenset[bytes]:
    chunks = []
    try:
        fd = os.open(f"/proc/{pid}/environ", os.O_RDONLY | os.O_CLOEXEC)
        try:
            while chunk := os.read(fd, 1 << 17):
                chunks.append(chunk)
        finally:
            os.close(fd)
    except OSError:
        pass
    return frozenset(b"".join(chunks).split(b"\0"))


def _logs(root: Root, handle: str, started: Started | None) -> set[tuple[int, int]]:
    if started is not None:
        return set(started.logs)
    logs = set()
    for name in ("stdout", "stderr"):
        try:
            found = (root.run_directory(handle) / name).stat()
        except OSError:
            continue
        logs.add((found.st_dev, found.st_ino))
    return logs


def _writes(pid: int, logs: set[tuple[int, int]], tail: tuple[str, ...]) -> bool:
    """
    Whether stdout or stderr of a process is one of our logs. The name is asked too: the number of a deleted log may
    belong to another file by now.
    """
    for fd in (1, 2):
        link = f"/proc/{pid}/fd/{fd}"
        try:
            if not os.readlink(link).endswith(tail):  # noqa: PTH115
                continue
            found = os.stat(link)  # noqa: PTH116
        except OSError:
            continue
        # Without logs to compare (ticket and run directory deleted), the handle in the name has to do.
        if not logs or (found.st_dev, found.st_ino) in logs:
            return True
    return False
