"""
The keeper: starts one attempt at most once, and stays until every process of it is gone and written down.

Belongs here: everything that runs below the control plane, from the payload on stdin to the last line of the ticket.
Does not belong here: any import beyond the standard library, any decision about what an ending means.

One keeper is two processes, so that no single death loses an exit status::

    control plane -> first process (exits) -> spare -> worker -> job (own session)
                                                |        reaps, writes, stops
                                                waits; takes over when the worker dies

The ticket `root/tickets/<handle>` is four lines of 1024 bytes: claim, started, ended, gone. It appears by `link`,
already complete, durable and locked; the lock is held by both processes and by nothing else, and is free only when
both are dead, or when the last line is on disk. The code is read in whole before anything is claimed: the files it
came from may be deleted at any time, and one file is all there is to read.

Started as ``python -I -S -E -X utf8 -c BOOTSTRAP`` with the handle as its only environment variable. stdin carries
``<length> <crc32>\\n`` and a JSON document; stdout receives one JSON line, the ack.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import resource
import signal
import time
import zlib

LINE_BYTES = 1024
CLAIM, STARTED, ENDED, GONE = range(4)
REPORT_BYTES = 64
ROUND_S = 0.02
RETRY_S = 1.0
NOT_RELEASED = "not_released"
PR_SET_CHILD_SUBREAPER = 36  # Source: linux/prctl.h, since Linux 3.4.
ALL_SIGNALS = signal.valid_signals()
WATCHED = {signal.SIGCHLD, signal.SIGTERM, signal.SIGUSR1}
LIBC = ctypes.CDLL(None, use_errno=True)

TYPE_CHECKING = False  # `typing` itself would cost every launch 5 ms.
if TYPE_CHECKING:
    from typing import Any, NoReturn

    Spec = dict[str, Any]
    Record = dict[str, Any]


class Refusal(Exception):
    """
    Something failed before the claim was linked: nothing is claimed and nothing ran.
    """

    def __init__(self, stage: str, number: int) -> None:
        super().__init__(stage, number)
        self.stage = stage
        self.number = number


class Taken(Exception):
    """
    The handle already has a ticket; `claim` is its first line, or None if that cannot be read.
    """

    def __init__(self, claim: Record | None) -> None:
        super().__init__()
        self.claim = claim


# --- Reading and writing ---------------------------------------------------------------------------------------------


def read_payload(fd: int) -> Spec | None:
    """
    Read `fd` to its end; None unless length and crc say that every byte arrived.
    """
    chunks = []
    while chunk := os.read(fd, 1 << 20):
        chunks.append(chunk)
    head, _, body = b"".join(chunks).partition(b"\n")
    try:
        length, crc = (int(word) for word in head.split(b" "))
        if length != len(body) or crc != zlib.crc32(body):
            return None
        spec = json.loads(body)
    except ValueError:
        return None
    return spec if isinstance(spec, dict) else None


def render(record: Record) -> bytes:
    """
    One ticket line: compact ASCII JSON, padded with spaces to 1024 bytes with the newline.
    """
    text = json.dumps(record, separators=(",", ":")).encode()
    if len(text) >= LINE_BYTES:
        raise OSError(errno.EMSGSIZE, "record too long")
    return text.ljust(LINE_BYTES - 1) + b"\n"


def read_line(fd: int, line: int) -> Record | None:
    """
    One ticket line; None when it is blank or torn, which is the same as not written.
    """
    try:
        record = json.loads(os.pread(fd, LINE_BYTES, line * LINE_BYTES))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def clocks() -> Record:
    """
    Wall clock and time since boot, in seconds; the second one survives steps of the first.
    """
    return {"wall": round(time.time(), 3), "boottime": round(time.clock_gettime(time.CLOCK_BOOTTIME), 3)}


def slurp(path: str, limit_bytes: int = 1 << 16) -> bytes:
    """
    The first bytes of a small file; raises OSError.
    """
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, limit_bytes)
    finally:
        os.close(fd)


def stat_of(pid: int | str) -> tuple[int, int]:
    """
    (parent pid, start time in ticks since boot) of a process; raises OSError when there is none.

    Source: proc(5), /proc/PID/stat, fields 4 and 22; field 2 may hold spaces and brackets, hence the last ")".
    """
    fields = slurp(f"/proc/{pid}/stat", 4096).rpartition(b")")[2].split()
    return int(fields[1]), int(fields[19])


def oom_kills() -> Record:
    """
    How often the kernel killed for memory so far: machine-wide, and in our own cgroup; null where not told.

    Source: cgroup-v2 memory.events; cgroup-v1 memory.oom_control; proc(5) /proc/vmstat; all count `oom_kill`.
    """

    def counted(path: str) -> int | None:
        try:
            for line in slurp(path).splitlines():
                if line.startswith(b"oom_kill "):
                    return int(line.split()[1])
        except (OSError, ValueError):
            pass
        return None

    cgroup = None
    try:
        for line in slurp("/proc/self/cgroup").decode().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "":
                cgroup = counted(f"/sys/fs/cgroup{path}/memory.events")
            elif "memory" in controllers.split(","):
                cgroup = counted(f"/sys/fs/cgroup/memory{path}/memory.oom_control")
            if cgroup is not None:
                break
    except (OSError, ValueError):
        pass
    return {"machine": counted("/proc/vmstat"), "cgroup": cgroup}


# --- The process tree ------------------------------------------------------------------------------------------------


def become_subreaper() -> None:
    """
    From here on every orphaned descendant becomes our child, however often it forked or called setsid.
    """
    if LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def descendants() -> dict[int, tuple[int, int]]:
    """
    pid -> (parent, start time) of everything below us at some instant of the scan; new ones may be missing.
    """
    seen = {}
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                parent, start = stat_of(name)
            except OSError:
                continue
            seen[int(name)] = (parent, start)
            children.setdefault(parent, []).append(int(name))
    found: dict[int, tuple[int, int]] = {}
    waiting = children.get(os.getpid(), [])
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found[pid] = seen[pid]
            waiting.extend(children.get(pid, ()))
    return found


def send(pid: int, seen: tuple[int, int], *signals: int) -> bool:
    """
    Send to a process only if it still is the one with this start time and below us; False when it is not.

    seen: (parent, start time) from the scan. The pidfd is opened first: what is checked through /proc afterwards is
    then the process that gets the signal, or the signal goes nowhere. The start time alone would not do: a pid that is
    reused within one tick of 10 ms has the same.
    """
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        parent, start = stat_of(pid)
        if start != seen[1] or parent not in (seen[0], os.getpid()):
            return False
        for number in signals:
            signal.pidfd_send_signal(pidfd, number)
    except OSError:
        return False
    finally:
        os.close(pidfd)
    return True


# --- Before the claim ------------------------------------------------------------------------------------------------


def fail_here(spec: Spec, point: str) -> None:
    """
    Test builds only: with failpoint ``refuse:<point>`` behave as if the disk were full.
    """
    if spec.get("failpoint") == f"refuse:{point}":
        raise OSError(errno.ENOSPC, point)


def prepare(spec: Spec) -> tuple[int, int, int]:
    """
    Do all that can fail: check root and spec, make the run directory and the logs.

    Returns:
        (stdout fd, stderr fd, fd of the tickets directory), the first two in append mode.
    Raises:
        Refusal: with the stage; a run directory may be left, which harms nobody.
        Taken: the handle is spent, seen early; `link` stays the referee.
    """
    stage = "root"
    try:
        fail_here(spec, stage)
        root = spec["root"]
        tickets = os.open(f"{root}/tickets", os.O_RDONLY | os.O_DIRECTORY)
        stage = "incarnation"
        fail_here(spec, stage)
        if json.loads(slurp(f"{root}/incarnation")).get("id") != spec["incarnation"]:
            raise Refusal(stage, errno.ESTALE)
        stage = "ticket"
        try:
            raise Taken(ticket_claim(spec["handle"], tickets))
        except FileNotFoundError:
            pass
        stage = "rlimits"
        for name in spec["rlimits"]:
            if not hasattr(resource, f"RLIMIT_{name.upper()}"):
                raise Refusal(stage, errno.EINVAL)
        stage = "run_directory"
        fail_here(spec, stage)
        run = f"{root}/runs/{spec['handle']}"
        try:  # noqa: SIM105 -- contextlib would cost every launch an import.
            os.mkdir(run, 0o700)
        except FileExistsError:
            pass
        stage = "logs"
        fail_here(spec, stage)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        return os.open(f"{run}/stdout", flags, 0o600), os.open(f"{run}/stderr", flags, 0o600), tickets
    except OSError as error:
        raise Refusal(stage, error.errno or 0) from error
    except (ValueError, AttributeError) as error:
        raise Refusal(stage, errno.EINVAL) from error


def claim(spec: Spec, tickets: int) -> int:
    """
    Make the ticket appear, complete, durable and locked; from the link on the handle is spent.

    Returns:
        The descriptor that holds the lock.
    Raises:
        Refusal: nothing was linked, the temporary file is gone.
        Taken: somebody else linked first.
    """
    temporary = f"{spec['handle']}.{os.getpid()}.{time.monotonic_ns()}.tmp"
    stage = "claim"
    try:
        fail_here(spec, stage)
        fd = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=tickets)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        record = {
            "v": 1,
            "handle": spec["handle"],
            "digest": spec["digest"],
            "void": False,
            "boot": slurp("/proc/sys/kernel/random/boot_id").decode().strip(),
            "pidns": pid_namespace(),
            "pid": os.getpid(),
            "start": stat_of("self")[1],
            "uid": os.getuid(),
            **clocks(),
        }
        blank = b" " * (LINE_BYTES - 1) + b"\n"
        data = render(record) + 3 * blank
        if os.write(fd, data) != len(data):
            raise OSError(errno.ENOSPC, "short write")
        os.fsync(fd)
        Failpoint(spec).reach("before_link", "keeper")
        stage = "link"
        os.link(temporary, spec["handle"], src_dir_fd=tickets, dst_dir_fd=tickets)
        Failpoint(spec).reach("after_link", "keeper")
    except FileExistsError:
        raise Taken(ticket_claim(spec["handle"], tickets)) from None
    except OSError as error:
        raise Refusal(stage, error.errno or 0) from error
    finally:
        # On success the second name goes; on failure the space. What stays is taken by the sweep.
        try:  # noqa: SIM105
            os.unlink(temporary, dir_fd=tickets)
        except OSError:
            pass
    return fd


def ticket_claim(handle: str, tickets: int) -> Record | None:
    """
    The first line of a ticket that exists; raises FileNotFoundError when it does not.
    """
    fd = os.open(handle, os.O_RDONLY, dir_fd=tickets)
    try:
        return read_line(fd, CLAIM)
    finally:
        os.close(fd)


def pid_namespace() -> str:
    """
    Names the pid namespace, also across a container's restart: inode, and start time of its first process.

    The inode alone is reused by the kernel as soon as a namespace is gone.
    """
    inode = os.stat("/proc/self/ns/pid").st_ino
    try:
        return f"{inode}:{stat_of(1)[1]}"
    except OSError:
        return f"{inode}:0"


class Failpoint:
    """
    Test builds only: die at a named point.

    ``<point>:<who>`` with who = ``worker`` (the process there, if it is the first keeper), ``each`` (whoever comes
    by), ``both`` (the whole pair) or ``freeze`` (SIGSTOP the process there).
    """

    def __init__(self, spec: Spec) -> None:
        self.point, _, self.who = str(spec.get("failpoint") or "").partition(":")

    def reach(self, point: str, role: str, other: int = 0) -> None:
        """
        Die if this is the point; `other` is the pid of the other half of the pair, 0 if there is none.
        """
        if point != self.point or (self.who in ("worker", "freeze") and role == "spare"):
            return
        if self.who == "freeze":
            os.kill(os.getpid(), signal.SIGSTOP)
            return
        if self.who == "both" and other:
            os.kill(other, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)


# --- The job process -------------------------------------------------------------------------------------------------


def become_job(spec: Spec, out: int, err: int, go: int, fail: int) -> NoReturn:
    """
    In the forked child: set everything up, wait for go, exec; never returns.

    What fails is written to `fail` as ``[stage, errno]``, twice: one copy for the worker, one for a spare that takes
    over after the worker has read the first. A clean end of `fail` means that exec has happened.
    """
    stage = "setsid"
    failure = 0
    try:
        os.setsid()
        stage = "signals"
        for number in ignored_signals():
            signal.signal(number, signal.SIG_DFL)  # Python ignores SIGPIPE and SIGXFSZ; exec would keep that.
        stage = "descriptors"
        os.dup2(out, 1)
        os.dup2(err, 2)
        stage = "umask"
        os.umask(spec["umask"])
        stage = "nice"
        if spec["nice"]:
            os.nice(spec["nice"])
        raise_oom_score(spec["oom_score_adj"])
        stage = "cwd"
        os.chdir(encoded(spec["cwd"] or f"{spec['root']}/runs/{spec['handle']}"))
        stage = "argv"
        argv = [encoded(word) for word in spec["argv"]]
        if not argv or not argv[0]:
            raise OSError(errno.ENOENT, "empty argv")
        stage = "env"
        env = {encoded(name): encoded(value) for name, value in spec["env"].items()}
        stage = "rlimits"
        for name, limits in spec["rlimits"].items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name.upper()}"), (limits[0], limits[1]))
        stage = NOT_RELEASED
        if os.read(go, 1) != b"g":
            raise OSError(errno.ECANCELED, "no go")
        stage = "exec"
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.execvpe(argv[0], argv, env)
    except OSError as error:
        failure = error.errno or 0
    except UnicodeError:
        failure = errno.EILSEQ
    except ValueError:
        # The resource module says ValueError for EPERM, exec for a NUL byte.
        failure = errno.EPERM if stage == "rlimits" else errno.EINVAL
    except MemoryError:
        failure = errno.ENOMEM
    finally:
        try:
            os.write(fail, 2 * json.dumps([stage, failure]).encode().ljust(REPORT_BYTES))
        finally:
            os._exit(127)


def ignored_signals() -> list[int]:
    """
    What this process ignores and may reset; handlers need no care, exec resets them.

    The C library keeps some numbers to itself (32 and 33 with glibc) and refuses them; GNU make 4.3 hands them on as
    ignored to whatever it starts. Source: proc(5), /proc/PID/status, SigIgn: a mask in hexadecimal, the lowest bit is
    signal 1.
    """
    mask = int(slurp("/proc/self/status").partition(b"SigIgn:")[2].split()[0], 16)
    return [number for number in signal.valid_signals() if mask >> (number - 1) & 1]


def encoded(text: str) -> bytes:
    """
    The exact bytes behind a string that may hold surrogate escapes; NUL is refused here, before anything runs.
    """
    data = text.encode("utf-8", "surrogateescape")
    if b"\0" in data:
        raise ValueError("NUL byte")
    return data


def raise_oom_score(by: int) -> None:
    """
    Make the job the kernel's first choice when memory runs out, before keepers and control plane; best effort.
    """
    try:
        score = min(1000, int(slurp("/proc/self/oom_score_adj")) + by)
        fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(fd, str(score).encode())
        os.close(fd)
    except (OSError, ValueError):
        pass


# --- Stopping --------------------------------------------------------------------------------------------------------


class Stop:
    """
    When to ask and when to kill. Pure: every time comes in, in seconds of one monotonic clock.
    """

    def __init__(self, grace_s: float, straggler_grace_s: float) -> None:
        self.grace_s = grace_s
        self.straggler_grace_s = straggler_grace_s
        self.asked: Record | None = None
        self.told = False
        self.chasing = False
        self.kill_at: float | None = None
        self.round_at = 0.0

    def request(self, record: Record, now: float, *, at_once: bool) -> None:
        """
        Somebody asked. The first request is kept and starts the grace; later ones can only end it.
        """
        if self.asked is None:
            self.asked = record
            self._kill_by(now + self.grace_s)
        if at_once:
            self.told = True
            self._kill_by(now)

    def chase(self, now: float) -> None:
        """
        The main process is gone and others are left: they get their own, shorter grace.
        """
        self.chasing = True
        self._kill_by(now + self.straggler_grace_s)

    def round_due(self, now: float) -> bool:
        """
        Whether to kill all that is left now; True at most once per 20 ms, so that 1,600 deaths are not 1,600 scans.
        """
        if self.kill_at is None or now < max(self.kill_at, self.round_at):
            return False
        self.round_at = now + ROUND_S
        return True

    def timeout_s(self, now: float) -> float | None:
        """
        How long to sleep at most; None: until something happens.
        """
        return None if self.kill_at is None else max(0.0, max(self.kill_at, self.round_at) - now)

    def _kill_by(self, at: float) -> None:
        self.kill_at = at if self.kill_at is None else min(self.kill_at, at)


# --- The pair --------------------------------------------------------------------------------------------------------


class Keeper:
    """
    One half of the pair, after the claim. The worker and a spare that has taken over run the same `watch`.
    """

    def __init__(self, spec: Spec, lock: int, ack: int) -> None:
        self.spec = spec
        self.lock = lock
        self.ack = ack
        self.role = "keeper"
        self.other = 0
        self.main = 0
        self.fail = -1
        self.report: bytes | None = None
        self.answer: Record = {"ack": "started"}
        self.killed: set[tuple[int, int]] = set()
        self.failpoint = Failpoint(spec)
        self.stop = Stop(spec["stop_grace_s"], spec["straggler_grace_s"])

    def run(self, tickets: int, out: int, err: int) -> None:
        """
        Finish the claim, split into spare and worker, and return when everything is over.
        """
        try:
            fail_here(self.spec, "sync")
            os.fsync(tickets)  # The write boundary: only now may anything run.
        except OSError as error:
            self.never("sync", error.errno or 0)
            return
        os.close(tickets)
        self.failpoint.reach("after_unlink", self.role)
        try:
            fail_here(self.spec, "fork")
            go_read, go_write = os.pipe()
            self.fail, fail_write = os.pipe()
            spare = os.getpid()
            worker = os.fork()
        except OSError as error:
            self.never("fork", error.errno or 0)
            return
        if worker:
            # The spare must not hold go open, or an unreleased child would never see its end.
            for fd in (go_read, go_write, fail_write, out, err, self.ack):
                os.close(fd)
            self.ack = -1
            self.role, self.other = "spare", worker
            self.wait_for_worker()
        else:
            self.role, self.other = "worker", spare
            self.work(go_read, go_write, fail_write, out, err)

    def never(self, stage: str, number: int) -> None:
        """
        The handle is spent, but nothing ran and nothing will: write that down and say so.
        """
        self.write(ENDED, self.ending(["exec_failed", stage, number]))
        self.leave()
        self.say({"ack": "exec_failed", "stage": stage, "errno": number})

    def work(self, go_read: int, go_write: int, fail_write: int, out: int, err: int) -> None:
        """
        The worker: fork the job, write that it exists, release it, answer, watch.
        """
        become_subreaper()
        try:
            fail_here(self.spec, "fork_job")
            self.main = os.fork()
        except OSError as error:
            self.never("fork_job", error.errno or 0)
            return
        if self.main == 0:
            os.close(go_write)
            become_job(self.spec, out, err, go_read, fail_write)
        self.failpoint.reach("after_fork", self.role, self.other)
        logs = [[log.st_dev, log.st_ino] for log in (os.fstat(out), os.fstat(err))]
        for fd in (go_read, fail_write, out, err):
            os.close(fd)
        released = False
        try:
            fail_here(self.spec, "started")
            record = {
                "main": self.main,
                "main_start": stat_of(self.main)[1],
                "worker": os.getpid(),
                "worker_start": stat_of("self")[1],
                "logs": logs,
                "oom": oom_kills(),
                **clocks(),
            }
            # No flush: the line must outlive us, not the machine; after a reboot nothing of it is alive anyway.
            os.pwrite(self.lock, render(record), STARTED * LINE_BYTES)
            self.failpoint.reach("after_started", self.role, self.other)
            released = os.write(go_write, b"g") == 1
        except OSError:
            pass  # Not released: the child says so itself when go ends.
        os.close(go_write)
        self.failpoint.reach("after_go", self.role, self.other)
        self.report = os.read(self.fail, REPORT_BYTES)
        if not released and not self.report:
            self.report = json.dumps([NOT_RELEASED, errno.EPIPE]).encode()
        if self.report:
            stage, number = json.loads(self.report)
            self.answer = {"ack": "exec_failed", "stage": stage, "errno": number}
        else:
            self.say(self.answer)
        self.watch()

    def wait_for_worker(self) -> None:
        """
        The spare: do nothing until the worker is gone; if it left work, do that.

        A request to stop is noted with its time, so that a takeover neither forgets it nor starts its grace anew, and
        is passed on: it may have been sent before the worker was known to anybody.
        """
        while True:
            try:
                info = os.waitid(os.P_PID, self.other, os.WEXITED | os.WNOHANG)
            except ChildProcessError:
                break
            if info is not None:
                break
            news = signal.sigwaitinfo(WATCHED)
            if news.si_signo != signal.SIGCHLD:
                self.note(news)
                os.kill(self.other, signal.SIGCONT)
                os.kill(self.other, news.si_signo)
        if read_line(self.lock, GONE) is None:
            started = read_line(self.lock, STARTED)
            if started is None:
                self.stop.chasing = True  # What is there was never released, and ends by itself.
            elif read_line(self.lock, ENDED) is None:
                self.main = started["main"]
            self.watch()

    def watch(self) -> None:
        """
        Reap, write and stop until no descendant is left; sleeps without a timer while nothing is due.
        """
        while self.reap():
            now = time.monotonic()
            if self.stop.asked and not self.stop.told:
                self.stop.told = True
                self.tell(main_only=self.spec["stop_scope"] == "main" and self.main != 0)
            if self.main == 0 and not self.stop.chasing and self.spec["stragglers"] == "kill":
                self.tell(main_only=False)
                self.stop.chase(now)
            if self.stop.round_due(now):
                self.kill()
            timeout_s = self.stop.timeout_s(time.monotonic())
            if timeout_s is None:
                self.note(signal.sigwaitinfo(WATCHED))
            elif (news := signal.sigtimedwait(WATCHED, timeout_s)) is not None:
                self.note(news)
        if read_line(self.lock, ENDED) is None and read_line(self.lock, STARTED) is None:
            # Started is written before go, so whatever was forked was never released.
            self.write(ENDED, self.ending(["never_ran", NOT_RELEASED]))
            self.say({"ack": "exec_failed", "stage": NOT_RELEASED, "errno": errno.ECANCELED})
        self.failpoint.reach("before_gone", self.role, self.other)
        self.leave()

    def leave(self) -> None:
        """
        Write the last line, flushed, and let the lock go for both halves: what it guarded is over.

        Explicitly, because whoever watches the file is told of its closing a moment before the kernel drops the lock.
        """
        self.write(GONE, self.leaving())
        self.failpoint.reach("after_gone", self.role, self.other)
        fcntl.flock(self.lock, fcntl.LOCK_UN)

    def note(self, news: signal.struct_siginfo) -> None:
        """
        Take in one signal. The clock is read now, after the sleep: a grace must not have run out while we idled.
        """
        if news.si_signo != signal.SIGCHLD:
            record = {"signal": news.si_signo, "sender": news.si_pid, **clocks()}
            self.stop.request(record, time.monotonic(), at_once=news.si_signo == signal.SIGUSR1)

    def reap(self) -> bool:
        """
        Collect the dead, the main process only after its ending is on disk; False when no child is left.

        With a subreaper that is a proof: every descendant is below us or has been handed to us.
        """
        while True:
            try:
                info = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            except ChildProcessError:
                return False
            if info is None:
                return True
            if info.si_pid == self.main:
                self.main_over(info)
            os.waitid(os.P_PID, info.si_pid, os.WEXITED)
            if info.si_pid == self.main:
                self.main = 0

    def main_over(self, info: os.waitid_result) -> None:
        """
        Write how the main process ended, if nobody has; the kernel keeps its zombie until this has returned.
        """
        if read_line(self.lock, ENDED) is not None:
            return
        if self.report is None:
            self.report = os.read(self.fail, REPORT_BYTES)
        if self.report:
            stage, number = json.loads(self.report)
            status = ["never_ran", stage] if stage == NOT_RELEASED else ["exec_failed", stage, number]
        else:
            words = {os.CLD_EXITED: "exited", os.CLD_KILLED: "signaled", os.CLD_DUMPED: "dumped"}
            status = [words[info.si_code], info.si_status]
        self.failpoint.reach("before_ended", self.role, self.other)
        self.write(ENDED, self.ending(status))
        self.failpoint.reach("after_ended", self.role, self.other)
        if self.report:
            self.say(self.answer)

    def tell(self, *, main_only: bool) -> None:
        """
        Ask with TERM, then CONT: a stopped process does not hear TERM alone, and must not run on before it does.
        """
        for pid, seen in descendants().items():
            if (not main_only or pid == self.main) and send(pid, seen, signal.SIGTERM, signal.SIGCONT):
                self.count(pid, seen[1])

    def kill(self) -> None:
        """
        One round: kill what one scan finds. Rounds repeat until nothing is left, so what a scan misses is met later.
        """
        for pid, seen in descendants().items():
            if send(pid, seen, signal.SIGKILL):
                self.count(pid, seen[1])

    def count(self, pid: int, start: int) -> None:
        """
        Remember which processes outlived the main one and had to be told.
        """
        if self.main == 0:
            self.killed.add((pid, start))

    def ending(self, status: list[str | int]) -> Record:
        """
        The third line: status of the main process, and the request to stop, if it was passed on before that.
        """
        asked = self.stop.asked if self.stop.told else None
        return {"status": status, "asked": asked, "by": self.role, "oom": oom_kills(), **clocks()}

    def leaving(self) -> Record:
        """
        The fourth line: nothing of the attempt is alive; max_rss_kib starts at the keeper's own, kept over exec.
        """
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {
            "stragglers": len(self.killed),
            "user_s": round(used.ru_utime, 3),
            "system_s": round(used.ru_stime, 3),
            "max_rss_kib": used.ru_maxrss,
            "asked": self.stop.asked,
            "by": self.role,
            "oom": oom_kills(),
            **clocks(),
        }

    def write(self, line: int, record: Record) -> None:
        """
        Overwrite one blank line and flush it, trying for as long as it takes: the blocks are allocated, but a disk may
        be sick, and a copy-on-write file system full.
        """
        data = render(record)
        while True:
            try:
                os.pwrite(self.lock, data, line * LINE_BYTES)
                os.fdatasync(self.lock)
                return
            except OSError:
                time.sleep(RETRY_S)

    def say(self, answer: Record) -> None:
        """
        Send the ack, once; a launcher that is gone does not matter.
        """
        if self.ack >= 0:
            say(self.ack, answer)
            self.ack = -1


def say(fd: int, answer: Record) -> None:
    """
    Write one JSON line and close; errors mean that nobody listens.
    """
    try:  # noqa: SIM105
        os.write(fd, json.dumps(answer, separators=(",", ":")).encode() + b"\n")
    except OSError:
        pass
    os.close(fd)


def confess(spec: Spec, error: BaseException) -> None:
    """
    A bug in the keeper: leave where it happened in the run directory, stderr being closed. Imports nothing.
    """
    where = []
    trace = error.__traceback__
    while trace is not None:
        where.append(f"{trace.tb_frame.f_code.co_name}:{trace.tb_lineno}")
        trace = trace.tb_next
    try:
        path = f"{spec['root']}/runs/{spec['handle']}/keeper.log"
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(fd, f"{os.getpid()} {' > '.join(where)} {error!r}\n".encode())
    except OSError:
        pass


def keep(spec: Spec, ack: int) -> None:
    """
    From a whole payload to the end of the attempt, in the process that becomes the spare, and in its worker.
    """
    try:
        try:
            out, err, tickets = prepare(spec)
            lock = claim(spec, tickets)
        except Refusal as refusal:
            say(ack, {"ack": "refused", "stage": refusal.stage, "errno": refusal.number})
            return
        except Taken as taken:
            first = taken.claim or {}
            say(ack, {"ack": "already", "digest": first.get("digest"), "void": first.get("void")})
            return
        Keeper(spec, lock, ack).run(tickets, out, err)
    except BaseException as error:
        confess(spec, error)


def settle(spec: Spec) -> NoReturn:
    """
    In a process that nobody waits for: leave the control plane's session, terminal, folder and descriptors; keep.
    """
    ack = os.dup(1)
    signal.pthread_sigmask(signal.SIG_SETMASK, ALL_SIGNALS)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.umask(0o077)
    null = os.open("/dev/null", os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    os.close(null)
    os.chdir("/")
    try:
        become_subreaper()
    except OSError as error:
        say(ack, {"ack": "refused", "stage": "subreaper", "errno": error.errno})
        os._exit(3)
    keep(spec, ack)
    os._exit(0)


def main() -> NoReturn:
    """
    Entry: read the payload, step out of the family, settle.
    """
    spec = read_payload(0)
    if spec is None:
        os._exit(3)  # Cut short: the control plane died while writing. Nothing was touched.
    try:
        first = os.fork()
    except OSError as error:
        say(1, {"ack": "refused", "stage": "fork", "errno": error.errno})
        os._exit(3)
    if first:
        os._exit(0)
    settle(spec)


if __name__ == "__main__":
    main()
