"""
Looking: the verdict table in full, and that trouble with the root decides nothing.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from process_lab import Lab

from standfast.engines.process import launcher, observe, root, ticket
from standfast.engines.process.launcher import Started
from standfast.engines.process.observe import Absent, Seen, Unreachable, judge
from standfast.engines.process.root import open_root
from standfast.engines.process.ticket import Exited, NeverRan, Ticket

TIMES: dict[str, Any] = {"wall": 1.0, "boottime": 1.0}
OOM = ticket.OomKills()


def _ticket(handle: str = "a", *, lines: int, boot: str = "b", pidns: str = "p", void: bool = False) -> Ticket:
    records = (
        ticket.Claim(
            v=1, handle=handle, digest="d", void=void, boot=boot, pidns=pidns, pid=1 << 22, start=1, uid=0, **TIMES
        ),
        ticket.Started(
            main=1 << 22, main_start=1, worker=1 << 22, worker_start=1, logs=((1, 1), (1, 2)), oom=OOM, **TIMES
        ),
        ticket.Ended(status=Exited(3), asked=None, by="worker", oom=OOM, **TIMES),
        ticket.Gone(stragglers=0, user_s=0, system_s=0, max_rss_kib=0, asked=None, by="worker", oom=OOM, **TIMES),
    )
    return Ticket(*records[:lines])


def _put(lab: Lab, content: Ticket, handle: str = "a") -> None:
    (lab.root.tickets / handle).write_bytes(ticket.render(content))


@pytest.mark.parametrize(
    "held, lines, boot, namespace",
    list(itertools.product((True, False), (1, 2, 3, 4), (True, False), (True, False))),
)
def test_the_verdict_table(held: bool, lines: int, boot: bool, namespace: bool) -> None:
    """
    Every combination of lock, lines, boot and namespace, against the table as a person would read it.
    """
    if held:
        want = ({1: "starting", 2: "running"}.get(lines, "ending"), "lock_held", "alive")
    elif lines == 4:
        want = ("ended", "gone", "proven")
    elif not boot:
        want = ("ended", "rebooted", "proven")
    elif lines == 1:
        want = ("ended", "never_released", "proven")
    else:
        want = ("ended", "keepers_lost" if namespace else "elsewhere", "unknown")
    seen = judge(_ticket(lines=lines), held=held, same_boot=boot, same_namespace=namespace)
    assert (seen.state, seen.basis, seen.tree) == want
    if lines >= 3:
        assert seen.status == Exited(3)
    else:
        assert seen.status == (NeverRan("not_released") if want[1] == "never_released" else None)


def test_a_claim_of_another_boot_is_not_never_ran(lab: Lab) -> None:
    """
    The line before go is not flushed: after a reboot a bare claim may have run, and its outcome is unknown.
    """
    _put(lab, _ticket(lines=1, boot="another"))
    seen = lab.seen("a")
    assert (seen.basis, seen.tree, seen.status) == ("rebooted", "proven", None)


@pytest.mark.parametrize("lines", [2, 3])
def test_another_container_is_only_settled_by_knowing_it_gone(lab: Lab, lines: int) -> None:
    """
    Same boot, free lock, other pid namespace: its processes cannot be looked for from here.
    """
    _put(lab, _ticket(lines=lines, boot=lab.root.boot, pidns="0:0"))
    seen = lab.seen("a")
    assert (seen.state, seen.basis, seen.tree) == ("ended", "elsewhere", "unknown")


def test_the_lock_is_looked_at_before_the_lines(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A keeper that finishes between the two looks has finished, and is not reported lost.
    """
    _put(lab, _ticket(lines=2, boot=lab.root.boot, pidns=lab.root.pidns))
    real = fcntl.flock

    def late(fd: Any, operation: int) -> None:
        _put(lab, _ticket(lines=4, boot=lab.root.boot, pidns=lab.root.pidns))
        real(fd, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    assert lab.seen("a").basis == "gone"


def test_looking_never_takes_the_lock_away(lab: Lab) -> None:
    """
    A hundred observers at once, and each sees the keeper alive.
    """
    gate = lab.pipe("gate")
    assert lab.launch("a", lab.sh(f"read x < {gate}")) == Started()
    assert {lab.seen("a").basis for _ in range(100)} == {"lock_held"}
    gate.write_text("go\n")
    lab.free("a")


def test_the_run_directory_is_deleted_under_a_job(lab: Lab) -> None:
    """
    Its end is recorded all the same, and the handle stays spent.
    """
    gate = lab.pipe("gate")
    assert lab.launch("a", lab.counting(f"read x < {gate}; exit 6")) == Started()
    shutil.rmtree(lab.root.run_directory("a"))
    gate.write_text("go\n")
    assert lab.free("a").status == Exited(6)
    assert isinstance(lab.launch("a", lab.counting()), launcher.Already)


def test_a_deleted_ticket_does_not_hide_a_job(lab: Lab) -> None:
    """
    Absent to a plain look, found by the search that goes before every replay.
    """
    assert lab.launch("a", lab.sh("exec sleep 1000")) == Started()
    worker, spare = lab.pair("a")
    ticket_path = lab.root.tickets / "a"
    kept = ticket_path.with_name("a.kept")
    ticket_path.rename(kept)
    assert lab.look("a") == Absent(final=False)
    found = observe.observe(lab.root, "a", search=True)
    assert isinstance(found, Seen)
    assert (found.state, found.ticket) == ("orphaned", None)
    assert "environment" in found.survivors[0].marks
    kept.rename(ticket_path)
    assert {worker, spare} == set(lab.pair("a"))


def test_keepers_in_flight_are_seen(lab: Lab) -> None:
    """
    Before the link there is no ticket, but a search tells that somebody is on the way.
    """
    lab.launch("a", lab.sh("exit 0"), failpoint="before_link:freeze", timeout_s=0.3)
    found = observe.observe(lab.root, "a", search=True)
    assert isinstance(found, Absent)
    assert not found.final
    assert len(found.keepers) == 1


@pytest.mark.parametrize("damage", ["root", "incarnation", "replaced", "torn claim", "other claim", "a folder"])
def test_trouble_decides_nothing(lab: Lab, damage: str) -> None:
    """
    Deleted, replaced, damaged or unreadable: Unreachable, never Absent.
    """
    _put(lab, _ticket(lines=4))
    path = lab.root.tickets / "a"
    match damage:
        case "root":
            shutil.rmtree(lab.root.path)
        case "incarnation":
            (lab.root.path / "incarnation").unlink()
        case "replaced":
            shutil.rmtree(lab.root.path)
            root.prepare(lab.root.path, fresh_id="second")
        case "torn claim":
            path.write_bytes(b" " * ticket.TICKET_BYTES)
        case "other claim":
            _put(lab, _ticket("b", lines=4))
        case "a folder":
            path.unlink()
            path.mkdir()
    assert isinstance(lab.look("a"), Unreachable)


def test_an_unreadable_folder_is_not_an_empty_one(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    EACCES says nothing about what is in it. Asked as nobody, where we are root.
    """
    _put(lab, _ticket(lines=4))
    lab.root.tickets.chmod(0o000)
    monkeypatch.setattr(root.Root, "check", lambda self: None)
    observer = os.fork()
    if observer == 0:
        if os.getuid() == 0:
            os.setuid(65534)
        os._exit(0 if isinstance(lab.look("a"), Unreachable) else 1)
    _, status = os.waitpid(observer, 0)
    lab.root.tickets.chmod(0o700)
    assert status == 0


@pytest.mark.root
def test_an_observer_in_another_pid_namespace(lab: Lab) -> None:
    """
    The lock is the kernel's, so a running job is seen running; its pids are not signalled.
    """
    if os.getuid() or shutil.which("unshare") is None:
        pytest.skip("needs root and unshare")
    gate = lab.pipe("gate")
    assert lab.launch("a", lab.sh(f"read x < {gate}; exit 2")) == Started()
    program = (
        "from pathlib import Path;from standfast.engines.process import root,stop\n"
        f"r = root.open_root(Path({str(lab.root.path)!r}))\n"
        "s = stop.stop(r,'a','d');print(s.seen.state, s.told, r.pidns)"
    )
    argv = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", program]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode and "unshare" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.stdout.split()[:2] == ["running", "nobody"], done.stderr
    assert done.stdout.split()[2] != open_root(lab.root.path).pidns
    gate.write_text("go\n")
    assert lab.free("a").status == Exited(2)


def test_ten_thousand_looks_in_a_second(lab: Lab) -> None:
    """
    Looking at an ended attempt costs some 45 µs of processor; bounded here at twice that, in CPU time.
    """
    count = 1000
    for n in range(count):
        _put(lab, _ticket(f"h-{n}", lines=4), f"h-{n}")
    began = time.process_time()
    for n in range(count):
        lab.look(f"h-{n}")
    assert time.process_time() - began < count * 100e-6


def test_an_idle_keeper_does_not_wake(lab: Lab) -> None:
    """
    Neither half runs while its job does and nothing happens.
    """
    gate = lab.pipe("gate")
    assert lab.launch("a", lab.sh(f"read x < {gate}")) == Started()

    def switches() -> list[int]:
        return [
            int(line.split()[1])
            for pid in lab.pair("a")
            for line in Path(f"/proc/{pid}/status").read_text().splitlines()
            if line.startswith("voluntary_ctxt_switches")
        ]

    assert lab.launch("b", lab.sh("sleep 0.05")) == Started()
    lab.free("b")
    before = switches()
    assert lab.launch("c", lab.sh("sleep 0.3")) == Started()
    lab.free("c")
    assert switches() == before
    gate.write_text("go\n")
    lab.free("a")
