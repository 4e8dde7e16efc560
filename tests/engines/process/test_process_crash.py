"""
Deaths of keepers and control planes at every named point and at random instants: at most one run, no status lost.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from process_lab import ROUNDS, Lab, status_of, wait_dead

from standfast.engines.process import launcher, spawner
from standfast.engines.process.launcher import Already, NoAnswer, Started
from standfast.engines.process.observe import Absent, Seen
from standfast.engines.process.stop import Over, Stopping, stop
from standfast.engines.process.ticket import Exited, NeverRan

pytestmark = pytest.mark.crash

# point, who dies: (runs, basis, status); None for a status that nobody can know.
NEVER = NeverRan("not_released")
TABLE = {
    ("after_link", "each"): (0, "never_released", NEVER),
    ("after_unlink", "each"): (0, "never_released", NEVER),
    ("after_fork", "worker"): (0, "gone", NEVER),
    ("after_fork", "both"): (0, "never_released", NEVER),
    ("after_started", "worker"): (0, "gone", NEVER),
    ("after_started", "both"): (0, "keepers_lost", None),
    ("after_go", "worker"): (1, "gone", Exited(5)),
    ("after_go", "both"): (1, "keepers_lost", None),
    ("before_ended", "worker"): (1, "gone", Exited(5)),
    ("before_ended", "both"): (1, "keepers_lost", None),
    ("before_ended", "each"): (1, "keepers_lost", None),
    ("after_ended", "worker"): (1, "gone", Exited(5)),
    ("after_ended", "both"): (1, "keepers_lost", Exited(5)),
    ("after_ended", "each"): (1, "gone", Exited(5)),
    ("before_gone", "worker"): (1, "gone", Exited(5)),
    ("before_gone", "both"): (1, "keepers_lost", Exited(5)),
    ("before_gone", "each"): (1, "keepers_lost", Exited(5)),
    ("after_gone", "worker"): (1, "gone", Exited(5)),
    ("after_gone", "both"): (1, "gone", Exited(5)),
}


@pytest.mark.parametrize("point, who", TABLE, ids="-".join)
def test_a_death_at_a_named_point(lab: Lab, point: str, who: str) -> None:
    """
    After it, the verdict is the true one and a relaunch runs nothing.
    """
    runs, basis, status = TABLE[point, who]
    lab.launch("a", lab.counting("exit 5"), failpoint=f"{point}:{who}")
    seen = lab.quiet("a")
    assert (seen.state, seen.basis, seen.status) == ("ended", basis, status)
    assert seen.tree == ("unknown" if basis == "keepers_lost" else "proven")
    assert lab.launch("a", lab.counting("exit 5")) == Already("d", False)
    assert lab.runs("a") == runs


def test_a_death_before_the_link_changes_nothing(lab: Lab) -> None:
    """
    There is no ticket, the launcher knows nothing, and the relaunch runs once.
    """
    assert isinstance(lab.launch("a", lab.counting(), failpoint="before_link:each"), NoAnswer)
    assert lab.look("a") == Absent(final=False)
    assert lab.launch("a", lab.counting()) == Started()
    lab.free("a")
    assert lab.runs("a") == 1


def test_a_report_read_by_a_dead_worker_is_not_lost(lab: Lab) -> None:
    """
    The worker reads that exec failed and dies; the spare has a copy, and does not take 127 for the job's own word.
    """
    lab.launch("a", launcher.Command(argv=("nope",), env={}), failpoint="before_ended:worker")
    assert type(status_of(lab.free("a"))).__name__ == "ExecFailed"


def test_the_control_plane_dies_anywhere_in_a_launch(lab: Lab) -> None:
    """
    Killed at random instants of a launch; the next one adopts or launches, and the job runs exactly once.
    """
    rng = random.Random(7)
    for n in range(20 * ROUNDS):
        handle = f"r-{n}"
        command = lab.counting()
        plane = os.fork()
        if plane == 0:
            try:
                launcher.launch(lab.root, handle, "d", command, spawner=lab.spawner)
            finally:
                os._exit(0)
        time.sleep(rng.uniform(0, 0.06))  # The instant of the crash itself.
        os.kill(plane, signal.SIGKILL)
        os.waitpid(plane, 0)
        lab.handles.add(handle)
        assert lab.launch(handle, command) in (Started(), Already("d", False))
        assert lab.free(handle).basis == "gone"
        assert lab.runs(handle) == 1, handle


def test_a_worker_killed_at_random_loses_no_status(lab: Lab) -> None:
    """
    The spare reaps what the worker left, whatever it was doing.
    """
    rng = random.Random(11)
    for n in range(20 * ROUNDS):
        handle = f"r-{n}"
        assert lab.launch(handle, lab.counting(f"sleep 0.0{n % 3}; exit {n % 256}")) == Started()
        worker, _ = lab.pair(handle)
        time.sleep(rng.uniform(0, 0.03))
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)
        seen = lab.free(handle)
        assert (seen.basis, seen.status) == ("gone", Exited(n % 256)), handle
        assert lab.runs(handle) == 1


def test_a_spare_killed_is_not_missed(lab: Lab) -> None:
    """
    The worker does everything by itself.
    """
    gate = lab.pipe("gate")
    assert lab.launch("a", lab.sh(f"read x < {gate}; exit 4")) == Started()
    _, spare = lab.pair("a")
    os.kill(spare, signal.SIGKILL)
    wait_dead(spare)
    gate.write_text("go\n")
    seen = lab.free("a")
    assert (seen.basis, seen.status) == ("gone", Exited(4))


def test_both_keepers_lost_while_the_job_lives(lab: Lab) -> None:
    """
    It is orphaned, named, stoppable; when it is gone its status is unknown, and death is not called proven.
    """
    assert lab.launch("a", lab.counting("exec sleep 1000")) == Started()
    lab.kill_pair("a")
    seen = lab.seen("a")
    assert (seen.state, seen.basis, seen.tree) == ("orphaned", "keepers_lost", "alive")
    assert [s.marks for s in seen.survivors] == [("main", "session", "environment", "log")]
    told = stop(lab.root, "a", "d")
    assert isinstance(told, Stopping)
    assert told.told == "survivors"
    seen = lab.quiet("a")
    assert (seen.state, seen.basis, seen.tree, seen.status) == ("ended", "keepers_lost", "unknown", None)
    assert isinstance(stop(lab.root, "a", "d"), Over)
    assert lab.launch("a", lab.counting()) == Already("d", False)
    assert lab.runs("a") == 1


@pytest.mark.parametrize(
    "child, mark",
    [
        ("setsid sleep 1000 > /dev/null 2>&1", "environment"),
        ("setsid env -i sleep 1000", "log"),
        ("env -i sleep 1000 > /dev/null 2>&1", "session"),
    ],
)
def test_orphans_are_found_by_each_of_their_marks(lab: Lab, child: str, mark: str) -> None:
    """
    Of a child that shed the others, one mark is enough.
    """
    ready = lab.pipe("ready")
    assert lab.launch("a", lab.sh(f"{child} & echo > {ready}; exec sleep 1000")) == Started()
    ready.read_text()
    lab.kill_pair("a")
    found = lab.seen("a").ticket
    assert found is not None
    assert found.started is not None
    marks: tuple[str, ...] = ()
    while marks != (mark,):  # It may still be on its way through its own execs.
        others = [s for s in lab.seen("a").survivors if s.process.pid != found.started.main]
        assert others
        marks = others[0].marks


def test_a_job_that_kills_its_keeper(lab: Lab) -> None:
    """
    `kill -9 $PPID` in a job costs it nothing but a note of who wrote its end.
    """
    # The ack may be lost with the worker; a fork server's launcher then tries once more, and finds the ticket.
    assert isinstance(lab.launch("a", lab.counting("kill -9 $PPID; exit 5")), Started | NoAnswer | Already)
    seen = lab.free("a")
    assert (seen.basis, seen.status) == ("gone", Exited(5))
    assert seen.ticket is not None
    assert seen.ticket.ended is not None
    assert seen.ticket.ended.by == "spare"


def test_the_code_is_deleted_under_a_running_keeper(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    An upgrade of the control plane does not touch what runs: takeover and stop work from memory.
    """
    code = tmp_path / "code"
    code.mkdir()
    shutil.copy(Path(spawner.__file__).parent / "keeper.py", code)
    monkeypatch.setattr(spawner, "KEEPER_ARGV", (*spawner.KEEPER_ARGV[:-1], str(code)))
    assert lab.launch("a", lab.sh("trap '' TERM; while :; do sleep 1000; done", stop_grace_s=0.1)) == Started()
    shutil.rmtree(code)
    worker, _ = lab.pair("a")
    os.kill(worker, signal.SIGKILL)
    wait_dead(worker)
    assert isinstance(stop(lab.root, "a", "d"), Stopping)
    seen = lab.free("a")
    assert seen.basis == "gone"
    assert seen.ticket is not None
    assert seen.ticket.ended is not None
    assert seen.ticket.ended.by == "spare"


def test_a_job_outlives_its_control_plane(lab: Lab) -> None:
    """
    Nothing that lives is a child of the launcher, or in its session; its end is there for the next one.
    """
    gate = lab.pipe("gate")
    program = (
        "import sys;from pathlib import Path;from standfast.engines.process import root,launcher as l;"
        f"print(l.launch(root.open_root(Path({str(lab.root.path)!r})),'a','d',"
        f"l.Command(argv=('/bin/sh','-c','read x < {gate}; exit 9'),env={{}})))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    lab.handles.add("a")
    assert done.stdout.strip() == "Started()"
    look = lab.look("a")
    assert isinstance(look, Seen)
    assert look.state == "running"
    gate.write_text("go\n")
    assert lab.free("a").status == Exited(9)
