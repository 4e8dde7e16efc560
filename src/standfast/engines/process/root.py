"""
The engine root: the folder that is the engine's whole memory, and the marks of the machine it lives on.

Belongs here: making and checking the folder, its incarnation, and the boot and pid namespace we run in. Does not belong
here: anything about a single attempt.

Shape::

    root/incarnation        {"v": 1, "id": ..., "machine": ...}, made once
    root/tickets/<handle>   see ticket.py
    root/runs/<handle>/     stdout, stderr, receipt.json, driver.claim, duplicate.*.json

Tickets and run directories are apart on purpose: deleting output must not re-open the door to a second run.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec

# Link and flock are not to be trusted there: a lock may be local to one client, a link may be retried after it worked.
REFUSED_FILE_SYSTEMS = ("nfs", "cifs", "smb", "9p", "fuse", "afs", "ceph", "lustre", "glusterfs", "gpfs", "ncpfs")


class RootUnusable(Exception):
    """
    The folder cannot serve as an engine root, or is not the one it was; `code` is stable.

    Codes: missing, not_writable, not_local, wrong_machine, wrong_incarnation, damaged.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Incarnation(msgspec.Struct, frozen=True):
    """
    The identity of one root's memory: a store keeps `id` with every attempt. machine: "" where the host has no id.
    """

    v: int
    id: str
    machine: str


class Root(msgspec.Struct, frozen=True):
    """
    An opened root and where we stand: boot id, and pid namespace as in a ticket's claim.
    """

    path: Path
    incarnation: str
    machine: str
    boot: str
    pidns: str

    @property
    def tickets(self) -> Path:
        """
        Where tickets are.
        """
        return self.path / "tickets"

    def run_directory(self, handle: str) -> Path:
        """
        Where an attempt's output and receipt are.
        """
        return self.path / "runs" / handle

    def check(self) -> None:
        """
        Make sure that what lies at `path` now still is this root's memory.

        Raises:
            RootUnusable: missing, damaged, wrong_incarnation, wrong_machine; an absent ticket then means nothing.
        """
        found = read_incarnation(self.path)
        if found.id != self.incarnation:
            raise RootUnusable("wrong_incarnation", f"{self.path}: {found.id}, expected {self.incarnation}")
        if found.machine != self.machine:
            raise RootUnusable("wrong_machine", f"{self.path} was made on another machine")


def prepare(path: Path, *, fresh_id: str) -> Root:
    """
    Make the folder unless it is there, and open it; two who do so at once agree on one incarnation.

    Args:
        path: On a local file system.
        fresh_id: Becomes the incarnation if the folder has none yet.
    Raises:
        RootUnusable: not_local, not_writable, damaged, wrong_machine; at most empty folders are left.
    """
    path = path.absolute()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        refuse_remote(path)
        for name in ("tickets", "runs"):
            (path / name).mkdir(mode=0o700, exist_ok=True)
        if not (path / "incarnation").exists():
            _make_incarnation(path, Incarnation(1, fresh_id, machine_id()))
    except OSError as error:
        raise RootUnusable("not_writable", f"{path}: {error.strerror}") from error
    return open_root(path)


def open_root(path: Path) -> Root:
    """
    Open a folder that `prepare` has made.

    Raises:
        RootUnusable: missing, not_local, damaged, wrong_machine.
    """
    path = path.absolute()
    found = read_incarnation(path)
    refuse_remote(path)
    root = Root(path, found.id, machine_id(), boot_id(), pid_namespace())
    root.check()
    return root


def read_incarnation(path: Path) -> Incarnation:
    """
    Who the folder at `path` says it is.

    Raises:
        RootUnusable: missing, damaged.
    """
    try:
        # Not pathlib: this is read before every look, 15 µs instead of 40.
        fd = os.open(f"{path}/incarnation", os.O_RDONLY | os.O_CLOEXEC)
        try:
            data = os.read(fd, 4096)
        finally:
            os.close(fd)
    except OSError as error:
        raise RootUnusable("missing", f"{path}/incarnation: {error.strerror}") from error
    try:
        return _INCARNATION.decode(data)
    except msgspec.DecodeError as error:
        raise RootUnusable("damaged", f"{path}/incarnation: {error}") from error


_INCARNATION = msgspec.json.Decoder(Incarnation)


def _make_incarnation(path: Path, incarnation: Incarnation) -> None:
    temporary = path / f"incarnation.{os.getpid()}.{time.monotonic_ns()}.tmp"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, msgspec.json.encode(incarnation) + b"\n")
        os.fsync(fd)
    finally:
        os.close(fd)
    try:
        os.link(temporary, path / "incarnation")
    except FileExistsError:
        pass  # Somebody was first, and theirs counts.
    finally:
        temporary.unlink(missing_ok=True)
    sync_directory(path)


def sync_directory(path: Path) -> None:
    """
    Make the names in a directory durable; raises OSError.
    """
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def refuse_remote(path: Path) -> None:
    """
    Raise RootUnusable(not_local) if `path` is on a file system whose locks and links are not the kernel's own.
    """
    kind = file_system(path, Path("/proc/self/mountinfo").read_bytes())
    if kind.startswith(REFUSED_FILE_SYSTEMS):
        raise RootUnusable("not_local", f"{path} is on {kind}; the process engine needs a local file system")


def file_system(path: Path, mountinfo: bytes) -> str:
    """
    The type of the file system that `path`, resolved, is on; "" when no mount matches.

    Source: proc(5), /proc/PID/mountinfo: field 5 is the mount point with octal escapes, the type follows " - ". Of
    equal mount points the last one is on top.
    """
    resolved = os.fsencode(path.resolve())
    best, kind = -1, ""
    for line in mountinfo.splitlines():
        before, _, after = line.partition(b" - ")
        fields = before.split(b" ")
        if len(fields) < 5 or not after:
            continue
        point = _unescaped(fields[4])
        inside = point == b"/" or resolved == point or resolved.startswith(point + b"/")
        if inside and len(point) >= best:
            best, kind = len(point), after.split(b" ")[0].decode()
    return kind


def _unescaped(point: bytes) -> bytes:
    for octal, byte in ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\012", b"\n"), (b"\\134", b"\\")):
        point = point.replace(octal, byte)
    return point


def machine_id() -> str:
    """
    The host's own id, "" where it has none (most containers).
    """
    try:
        return Path("/etc/machine-id").read_text().strip()
    except OSError:
        return ""


def boot_id() -> str:
    """
    Changes with every boot of the kernel, and with nothing else.
    """
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def pid_namespace() -> str:
    """
    The pid namespace we see, named as keepers do: inode, and start time of its first process.

    The inode alone is reused by the kernel as soon as a namespace is gone, as when a container is restarted.
    """
    inode = Path("/proc/self/ns/pid").stat().st_ino
    try:
        start = Path("/proc/1/stat").read_bytes().rpartition(b")")[2].split()[19].decode()
    except OSError:
        start = "0"
    return f"{inode}:{start}"
