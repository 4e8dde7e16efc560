"""
Mutants: keepers broken on purpose, each of which a scenario must tell from the real one.

Belongs here: the mistakes that would be easy to make. A scenario returns what a correct keeper gives and is run on
both; a mutant that gives the same would mean that the scenario proves nothing.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from process_lab import Lab, wait_dead

from standfast.engines.process import keeper, launcher, processes, spawner
from standfast.engines.process.observe import Seen

pytestmark = pytest.mark.crash
SOURCE = Path(keeper.__file__).read_text()


def _with(lab: Lab, monkeypatch: pytest.MonkeyPatch, *changes: tuple[str, str]) -> None:
    source = SOURCE
    for old, new in changes:
        assert source.count(old) == 1, f"the mutant no longer applies: {old!r}"
        source = source.replace(old, new)
    code = lab.folder / "mutant"
    code.mkdir(exist_ok=True)
    (code / "keeper.py").write_text(source)
    monkeypatch.setattr(spawner, "KEEPER_ARGV", (*spawner.KEEPER_ARGV[:-1], str(code)))


def _frozen_after_link(lab: Lab) -> Any:
    """
    A keeper that lives and has claimed must be seen to hold the lock.
    """
    lab.launch("a", lab.sh("exit 0"), failpoint="after_link:freeze", timeout_s=0.3)
    return lab.seen("a").basis


def _worker_dies_before_ended(lab: Lab) -> Any:
    """
    The zombie must still be there for the spare.
    """
    lab.launch("a", lab.sh("exit 5"), failpoint="before_ended:worker")
    return lab.free("a").status


def _worker_dies_before_go(lab: Lab) -> Any:
    """
    What was never released never ran, and did not succeed.
    """
    lab.launch("a", lab.counting(), failpoint="after_started:worker")
    return lab.free("a").status, lab.runs("a")


def _exec_fails_and_worker_dies(lab: Lab) -> Any:
    """
    The report must reach both halves.
    """
    lab.launch("a", launcher.Command(argv=("nope",), env={}), failpoint="before_ended:worker")
    return lab.free("a").status


def _spare_must_let_go_of_go(lab: Lab) -> Any:
    """
    After the worker's death the blocked child must see the end of go, and leave.
    """
    lab.launch("a", lab.counting(), failpoint="after_started:worker", timeout_s=1.0)
    found = lab.seen("a").ticket
    assert found is not None
    assert found.started is not None
    try:
        wait_dead(found.started.main, timeout_s=1.0)
    except AssertionError:
        return "the child waits for ever"
    return "the child has left"


def _stragglers(lab: Lab) -> Any:
    """
    A child in a session of its own must be gone before "gone" is written.
    """
    ready = lab.pipe("ready")
    script = f"setsid env -i sleep 1000 > /dev/null 2>&1 & echo $! > {ready}; exit 0"
    lab.launch("a", lab.sh(script, straggler_grace_s=0.1))
    child = int(ready.read_text())
    seen = lab.free("a")
    process = processes.read(child)
    left = process is not None and process.state not in processes.DEAD_STATES
    if left:
        os.kill(child, signal.SIGKILL)
    return seen.basis, left


def _lock_is_not_the_jobs(lab: Lab) -> Any:
    """
    A job that outlives both keepers must not hold their lock.
    """
    lab.launch("a", lab.sh("exec sleep 1000"))
    lab.kill_pair("a")
    look = lab.look("a")
    assert isinstance(look, Seen)
    return look.basis


def _signals_are_the_jobs_own(lab: Lab) -> Any:
    """
    A job starts with every signal at its default.
    """
    lab.launch("a", lab.sh("grep SigIgn /proc/self/status > $LAB/ignored"))
    lab.free("a")
    return (lab.folder / "ignored").read_text()


MUTANTS: dict[str, tuple[Callable[[Lab], Any], tuple[tuple[str, str], ...]]] = {
    "lock taken after the link": (
        _frozen_after_link,
        (
            ("        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)\n", ""),
            (
                "    return fd\n\n\ndef ticket_claim",
                "    fcntl.flock(fd, fcntl.LOCK_EX)\n    return fd\n\n\ndef ticket_claim",
            ),
        ),
    ),
    "reaped before recorded": (
        _worker_dies_before_ended,
        (("os.WEXITED | os.WNOWAIT | os.WNOHANG", "os.WEXITED | os.WNOHANG"),),
    ),
    "exit 0 when not released": (
        _worker_dies_before_go,
        (('            raise OSError(errno.ECANCELED, "no go")', "            os._exit(0)"),),
    ),
    "go not needed": (_worker_dies_before_go, (('if os.read(go, 1) != b"g":', "if False:"),)),
    "one copy of the report": (
        _exec_fails_and_worker_dies,
        (("2 * json.dumps([stage, failure])", "json.dumps([stage, failure])"),),
    ),
    "spare keeps go open": (
        _spare_must_let_go_of_go,
        (
            (
                "for fd in (go_read, go_write, fail_write, out, err, self.ack)",
                "for fd in (go_read, fail_write, out, err, self.ack)",
            ),
        ),
    ),
    "no subreaper": (
        _stragglers,
        (("prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)", "prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)"),),
    ),
    "lock inherited by the job": (
        _lock_is_not_the_jobs,
        (
            (
                "        os.fsync(fd)\n        Failpoint",
                "        os.fsync(fd)\n        os.set_inheritable(fd, True)\n        Failpoint",
            ),
        ),
    ),
    "signals left ignored": (
        _signals_are_the_jobs_own,
        (("            signal.signal(number, signal.SIG_DFL)  #", "            pass  #"),),
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught(plain_lab: Lab, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The scenario tells it from the real keeper.
    """
    lab = plain_lab
    scenario, changes = MUTANTS[name]
    real = Lab(tmp_path / "real")
    try:
        expected = scenario(real)
    finally:
        real.clean()
    _with(lab, monkeypatch, *changes)
    assert scenario(lab) != expected


def test_the_order_of_the_claim(plain_lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Locked, filled and flushed before the link; the directory flushed before anything is forked. Without these flushes
    a power cut forgets the ticket, and a relaunch runs twice: no test without a power cut could see it otherwise.
    """
    lab = plain_lab
    calls: list[str] = []

    def noted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            kind = ""
            if name == "fsync":
                kind = " directory" if os.path.isdir(f"/proc/self/fd/{arguments[0]}") else " file"
            calls.append(name + kind)
            if name == "fork":
                raise OSError(11, "no more processes")
            return real(*arguments, **options)

        return call

    body = launcher.payload(lab.root, "a", "d", lab.sh("exit 0"))
    spec = keeper.json.loads(body.partition(b"\n")[2])
    out, err, tickets = keeper.prepare(spec)
    for module, names in (
        (keeper.os, ("write", "fsync", "fdatasync", "link", "unlink", "fork", "pwrite")),
        (keeper.fcntl, ("flock",)),
    ):
        for name in names:
            monkeypatch.setattr(module, name, noted(name, getattr(module, name)))
    lock = keeper.claim(spec, tickets)
    keeper.Keeper(spec, lock, -1).run(tickets, out, err)
    monkeypatch.undo()
    for fd in (out, err, lock):
        os.close(fd)
    assert calls == [
        *("flock", "write", "fsync file", "link", "unlink", "fsync directory", "fork"),
        *("pwrite", "fdatasync", "pwrite", "fdatasync", "flock"),
    ]
