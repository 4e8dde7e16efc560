"""
The machine around: full disks, another user, pid 1, a reused pid. Mostly root's tests; skipped elsewhere.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from process_lab import PATH, Lab

from standfast.engines.process import launcher, root, spawner
from standfast.engines.process.launcher import Command, Refused, Started
from standfast.engines.process.observe import Absent
from standfast.engines.process.stop import Stopping, stop
from standfast.engines.process.temporaries import drop_stale
from standfast.engines.process.ticket import Exited


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """
    A file system of half a megabyte.
    """
    place = tmp_path / "small"
    place.mkdir()
    argv = ["mount", "-t", "tmpfs", "-o", "size=512k,mode=700", "tmpfs", str(place)]
    if os.getuid() or subprocess.run(argv, capture_output=True, check=False).returncode:
        pytest.skip("needs root and mount")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def _fill(place: Path) -> Path:
    path = place / "filler"
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    assert shutil.disk_usage(place).free == 0
    return path


@pytest.mark.root
def test_a_disk_full_at_launch(small_disk: Path, tmp_path: Path) -> None:
    """
    Refused, no ticket, no temporary file; with space back the same handle runs.
    """
    lab = Lab(small_disk)
    lab.ledger = tmp_path / "ledger"
    filler = _fill(small_disk)
    answer = lab.launch("a", lab.counting())
    assert isinstance(answer, Refused)
    assert answer.errno == errno.ENOSPC
    assert lab.look("a") == Absent(final=False)
    assert list(lab.root.tickets.iterdir()) == []
    filler.unlink()
    assert lab.launch("a", lab.counting()) == Started()
    assert lab.free("a").status == Exited(0)
    assert lab.runs("a") == 1
    lab.clean()


@pytest.mark.root
def test_a_disk_full_at_the_end(small_disk: Path, tmp_path: Path) -> None:
    """
    The lines were allocated with the claim, so the ending is recorded all the same.
    """
    lab = Lab(small_disk)
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    assert lab.launch("a", lab.sh(f"read x < {gate}; exit 6")) == Started()
    _fill(small_disk)
    gate.write_text("go\n")
    seen = lab.free("a")
    assert (seen.basis, seen.status) == ("gone", Exited(6))
    lab.clean()


@pytest.mark.root
def test_another_user_end_to_end(tmp_path: Path) -> None:
    """
    No privilege is needed anywhere: launch, look, stop, confirm, as nobody.
    """
    if os.getuid():
        pytest.skip("the other tests run without root already")
    place = Path("/tmp") / f"standfast-nobody-{os.getpid()}"
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            lab = Lab(place)
            # The keeper's Python must be readable for nobody; where ours is not, the system's is as good.
            if not os.access(sys.executable, os.X_OK):
                if not os.access("/usr/bin/python3", os.X_OK):
                    os._exit(77)
                spawner.KEEPER_ARGV = ("/usr/bin/python3", *spawner.KEEPER_ARGV[1:])
            assert lab.launch("a", lab.sh("exec sleep 1000")) == Started()
            assert isinstance(stop(lab.root, "a", "d"), Stopping)
            assert lab.free("a").basis == "gone"
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    shutil.rmtree(place, ignore_errors=True)
    if os.waitstatus_to_exitcode(status) == 77:
        pytest.skip("the code is not readable for nobody")
    assert status == 0


@pytest.mark.root
def test_a_control_plane_that_is_pid_1(plain_lab: Lab) -> None:
    """
    In a container without an init, keepers end as its zombies; they hold no lock, so the verdicts stay right.
    """
    if os.getuid() or shutil.which("unshare") is None:
        pytest.skip("needs root and unshare")
    program = (
        "import os,fcntl;from pathlib import Path\n"
        "from standfast.engines.process import root,observe,launcher as l\n"
        f"r = root.open_root(Path({str(plain_lab.root.path)!r}))\n"
        "assert os.getpid() == 1\n"
        f"a = l.launch(r,'a','d',l.Command(argv=('/bin/sh','-c','exit 4'),env={{'PATH':{PATH!r}}}))\n"
        "f = open(r.tickets/'a','rb'); fcntl.flock(f, fcntl.LOCK_SH)\n"
        "s = observe.observe(r,'a'); print(a, s.basis, s.status)"
    )
    argv = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", program]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode and done.stderr.startswith("unshare"):
        pytest.skip(done.stderr.strip())
    assert done.stdout.strip() == "Started() gone Exited(code=4)", done.stderr


@pytest.mark.root
def test_a_container_that_was_killed_with_its_jobs(plain_lab: Lab) -> None:
    """
    Same boot, another pid namespace, lock free: it ended, by a death that cannot be looked at from here.
    """
    if os.getuid() or shutil.which("unshare") is None:
        pytest.skip("needs root and unshare")
    program = (
        "from pathlib import Path\n"
        "from standfast.engines.process import root,launcher as l\n"
        f"r = root.open_root(Path({str(plain_lab.root.path)!r}))\n"
        f"print(l.launch(r,'a','d',l.Command(argv=('/bin/sleep','1000'),env={{'PATH':{PATH!r}}})))"
    )
    argv = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", program]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode and done.stderr.startswith("unshare"):
        pytest.skip(done.stderr.strip())
    assert done.stdout.strip() == "Started()", done.stderr
    seen = plain_lab.free("a")
    assert (seen.state, seen.basis, seen.tree, seen.status) == ("ended", "elsewhere", "unknown", None)


def test_stale_temporaries_go(plain_lab: Lab) -> None:
    """
    Old and unlocked ones only; a ticket with two names keeps its own.
    """
    lab = plain_lab
    lab.launch("a", lab.counting(), failpoint="before_link:each")
    lab.launch("b", lab.counting(), failpoint="after_link:each")
    lab.launch("c", lab.counting(), failpoint="before_link:freeze", timeout_s=0.3)
    names = {path.name.partition(".")[0] for path in lab.root.tickets.glob("*.tmp")}
    assert names == {"a", "b", "c"}
    now = max(path.stat().st_mtime for path in lab.root.tickets.iterdir())
    assert drop_stale(lab.root, now_s=now) == 0
    assert drop_stale(lab.root, now_s=now + 61) == 2
    assert {path.name.partition(".")[0] for path in lab.root.tickets.iterdir()} == {"b", "c"}
    assert lab.free("b").basis == "never_released"
    assert root.open_root(lab.root.path).incarnation == "lab"
    assert isinstance(lab.launch("b", Command(argv=("true",), env={})), launcher.Already)
