"""
Stopping: asked once, graced once, killed to the last process, confirmed only by proof.
"""

from __future__ import annotations

import os
import signal
import sys

import pytest
from process_lab import PATH, ROUNDS, Lab, wait_dead

from standfast.engines.process import keeper, processes
from standfast.engines.process.launcher import Command, NoAnswer, Started
from standfast.engines.process.observe import Seen
from standfast.engines.process.stop import Over, Stopping, living, stop
from standfast.engines.process.ticket import Asked, Exited, Signaled


def _asked(seen: Seen) -> Asked | None:
    assert seen.ticket is not None
    assert seen.ticket.ended is not None
    return seen.ticket.ended.asked


def _stopped(lab: Lab, handle: str = "a", *, at_once: bool = False) -> Seen:
    told = stop(lab.root, handle, "d", at_once=at_once)
    assert isinstance(told, Stopping), told
    assert len(told.signalled) == 2
    return lab.free(handle)


def test_a_stop_is_asked_for_by_name(lab: Lab) -> None:
    """
    The record tells which signal came and from whom.
    """
    assert lab.launch("a", lab.sh("exec sleep 1000")) == Started()
    seen = _stopped(lab)
    asked = _asked(seen)
    assert seen.status == Signaled(signal.SIGTERM)
    assert seen.basis == "gone"
    assert asked is not None
    assert (asked.signal, asked.sender) == (signal.SIGTERM, os.getpid())


def test_exit_0_after_our_signal_is_marked_as_asked(lab: Lab) -> None:
    """
    Many programs exit 0 on TERM, which is no proof of finished work.
    """
    ready = lab.pipe("ready")
    script = f"trap 'exit 0' TERM; echo > {ready}; while :; do sleep 1000 & wait; done"
    assert lab.launch("a", lab.sh(script)) == Started()
    ready.read_text()
    seen = _stopped(lab)
    assert seen.status == Exited(0)
    assert _asked(seen) is not None


def test_an_end_before_the_signal_was_passed_on_is_not_asked(lab: Lab) -> None:
    """
    A request that found the main process dead already did not cause its death.
    """
    assert lab.launch("a", lab.sh("setsid sleep 1000 & exit 0", stragglers="wait")) == Started()
    main = lab.seen("a").ticket.started.main  # type: ignore[union-attr]
    wait_dead(main)
    while lab.seen("a").state != "ending":
        pass
    seen = _stopped(lab)
    assert seen.status == Exited(0)
    assert _asked(seen) is None
    assert seen.ticket is not None
    assert seen.ticket.gone is not None
    assert seen.ticket.gone.asked is not None


def test_the_whole_tree_goes_and_only_then_gone(lab: Lab) -> None:
    """
    Double fork, setsid, an empty environment, output elsewhere, TERM ignored: below a subreaper nothing hides.
    """
    ready = lab.pipe("ready")
    script = (
        "trap '' TERM;"
        "(setsid env -i /bin/sh -c 'trap \"\" TERM; sleep 1000 & sleep 1000' >/dev/null 2>&1 &);"
        f"echo > {ready}; sleep 1000; sleep 1000"
    )
    assert lab.launch("a", lab.sh(script, stop_grace_s=0.2)) == Started()
    ready.read_text()
    while len(living(lab.seen("a"))) < 5:  # Until its own forks and execs are through.
        pass
    everybody = living(lab.seen("a"))
    seen = _stopped(lab)
    assert (seen.basis, seen.tree, seen.status) == ("gone", "proven", Signaled(signal.SIGKILL))
    assert [s.process for s in everybody if processes.read(s.process.pid) == s.process] == []


@pytest.mark.parametrize("scope, told", [("main", "no"), ("tree", "yes")])
def test_who_is_asked(lab: Lab, scope: str, told: str) -> None:
    """
    With `main` the children are left to it, until the grace is over.
    """
    ready, answer = lab.pipe("ready"), lab.folder / "answer"
    script = (
        f"sh -c 'trap \"echo yes > {answer}; exit\" TERM; echo > {ready}; while :; do sleep 0.01; done' &"
        f"trap 'kill -KILL $!; exit 3' TERM; wait"
    )
    answer.write_text("no")
    assert lab.launch("a", lab.sh(script, stop_scope=scope, stragglers="wait", stop_grace_s=5)) == Started()
    ready.read_text()
    seen = _stopped(lab)
    assert seen.basis == "gone"
    if scope == "main":
        assert answer.read_text().strip() == told


def test_kill_at_once_knows_no_grace(lab: Lab) -> None:
    """
    Also in the middle of a grace that would last an hour.
    """
    ready = lab.pipe("ready")
    script = f"trap '' TERM; echo > {ready}; while :; do sleep 1000; done"
    assert lab.launch("a", lab.sh(script, stop_grace_s=3600)) == Started()
    ready.read_text()
    assert isinstance(stop(lab.root, "a", "d"), Stopping)
    assert _stopped(lab, at_once=True).status == Signaled(signal.SIGKILL)


def test_stragglers_are_told_and_counted(lab: Lab) -> None:
    """
    What outlives the main process gets TERM, then KILL; the status stays the main one's.
    """
    script = "setsid sh -c 'trap \"\" TERM; sleep 1000; sleep 1000' & sleep 0.1; exit 3"
    assert lab.launch("a", lab.sh(script, straggler_grace_s=0.1)) == Started()
    seen = lab.free("a")
    assert (seen.basis, seen.status) == ("gone", Exited(3))
    assert seen.ticket is not None
    assert seen.ticket.gone is not None
    assert seen.ticket.gone.stragglers >= 2


def test_stragglers_may_be_waited_for(lab: Lab) -> None:
    """
    The attempt is ending, with its status known, until the last one is done by itself.
    """
    gate = lab.pipe("gate")
    assert lab.launch("a", lab.sh(f"(read x < {gate}; exit 0) & exit 3", stragglers="wait")) == Started()
    while lab.seen("a").state != "ending":
        pass
    assert lab.seen("a").status == Exited(3)
    gate.write_text("go\n")
    seen = lab.free("a")
    assert seen.ticket is not None
    assert seen.ticket.gone is not None
    assert (seen.basis, seen.ticket.gone.stragglers) == ("gone", 0)


def test_a_stopped_job_hears_it(lab: Lab) -> None:
    """
    CONT comes with TERM.
    """
    assert lab.launch("a", lab.sh("kill -STOP $$; exit 1")) == Started()
    main = lab.seen("a").ticket.started.main  # type: ignore[union-attr]
    while (process := processes.read(main)) is None or process.state != "T":
        pass
    assert _stopped(lab).status == Signaled(signal.SIGTERM)


def test_a_frozen_keeper_is_not_a_dead_one(lab: Lab) -> None:
    """
    It holds the lock, so the attempt is alive; a stop thaws it.
    """
    assert lab.launch("a", lab.sh("exec sleep 1000")) == Started()
    for pid in lab.pair("a"):
        os.kill(pid, signal.SIGSTOP)
    assert lab.seen("a").state == "running"
    assert _stopped(lab).basis == "gone"


@pytest.mark.parametrize("point", ["after_unlink", "after_fork", "after_started"])
def test_a_stop_while_starting(lab: Lab, point: str) -> None:
    """
    A request that comes before the worker is known reaches it through the spare, and the job ends.
    """
    answer = lab.launch("a", lab.sh("exec sleep 1000"), failpoint=f"{point}:freeze", timeout_s=0.3)
    assert isinstance(answer, NoAnswer)
    assert lab.seen("a").state == ("running" if point == "after_started" else "starting")
    told = stop(lab.root, "a", "d")
    assert isinstance(told, Stopping)
    assert told.signalled
    seen = lab.free("a")
    assert (seen.state, seen.tree) == ("ended", "proven")


def test_a_takeover_does_not_forget_the_request(lab: Lab) -> None:
    """
    The worker dies after it was asked; the spare was asked too, and its grace has been running since then.
    """
    ready = lab.pipe("ready")
    script = f"trap '' TERM; echo > {ready}; while :; do sleep 1000; done"
    assert lab.launch("a", lab.sh(script, stop_grace_s=0.5)) == Started()
    ready.read_text()
    worker, _ = lab.pair("a")
    assert isinstance(stop(lab.root, "a", "d"), Stopping)
    os.kill(worker, signal.SIGKILL)
    seen = lab.free("a")
    assert (seen.basis, seen.status) == ("gone", Signaled(signal.SIGKILL))
    assert _asked(seen) is not None


def test_stop_is_idempotent_in_every_state(lab: Lab) -> None:
    """
    Absent, running, ending and ended: the answer is the state, and nothing breaks.
    """
    assert stop(lab.root, "absent", "d") == Over(None)
    assert stop(lab.root, "absent", "d") == Over(None)
    ready = lab.pipe("ready")
    script = f"trap '' TERM; echo > {ready}; while :; do sleep 1000; done"
    assert lab.launch("a", lab.sh(script, stop_grace_s=0.2)) == Started()
    ready.read_text()
    for _ in range(5):
        stop(lab.root, "a", "d")
    seen = lab.free("a")
    assert stop(lab.root, "a", "d") == Over(seen)
    assert stop(lab.root, "a", "d", at_once=True) == Over(seen)


def test_many_processes(lab: Lab) -> None:
    """
    Hundreds of them, each in a session of its own, ignoring TERM.
    """
    count = 200 * ROUNDS
    ready = lab.pipe("ready")
    program = (
        "import os,signal,time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"for _ in range({count}):\n"
        "    if os.fork() == 0:\n"
        "        os.setsid(); time.sleep(1000)\n"
        f"open({str(ready)!r}, 'w').write('x')\n"
        "time.sleep(1000)\n"
    )
    command = Command(argv=(sys.executable, "-c", program), env={"PATH": PATH}, stop_grace_s=0.1)
    assert lab.launch("a", command) == Started()
    ready.read_text()
    assert len(living(lab.seen("a"))) == count + 1
    assert _stopped(lab).basis == "gone"


def test_processes_that_fork_and_vanish(lab: Lab) -> None:
    """
    A chain that is somebody else at every look is caught as well: rounds repeat until nothing is left.
    """
    ready = lab.pipe("ready")
    program = (
        "import os,signal,time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "for _ in range(8):\n"
        "    if os.fork() == 0:\n"
        "        while True:\n"
        "            if os.fork(): os._exit(0)\n"
        f"open({str(ready)!r}, 'w').write('x')\n"
        "time.sleep(1000)\n"
    )
    command = Command(argv=(sys.executable, "-c", program), env={"PATH": PATH}, stop_grace_s=0.1)
    assert lab.launch("a", command) == Started()
    ready.read_text()
    assert _stopped(lab).basis == "gone"


def test_a_pid_that_belongs_to_another_is_not_signalled(lab: Lab) -> None:
    """
    A pid with another start time is a stranger; a reused session number without its leader is shown, not signalled.
    """
    me = processes.read(os.getpid())
    assert me is not None
    assert not processes.send(me.pid, me.start + 1, signal.SIGKILL)
    assert not keeper.send(me.pid, (me.parent, me.start + 1), signal.SIGKILL)
    assert not keeper.send(me.pid, (me.parent + 1, me.start), signal.SIGKILL)


class TestGrace:
    """
    The clockwork alone, on a clock of our own.
    """

    def test_it_counts_from_the_request(self) -> None:
        """
        After an idle hour the grace is whole, and repeats do not start it anew.
        """
        stop = keeper.Stop(10.0, 1.0)
        assert stop.timeout_s(0.0) is None
        stop.request({"n": 1}, 3600.0, at_once=False)
        assert not stop.round_due(3600.0)
        assert stop.timeout_s(3600.0) == 10.0
        stop.request({"n": 2}, 3605.0, at_once=False)
        assert stop.asked == {"n": 1}
        assert stop.timeout_s(3605.0) == 5.0
        assert stop.round_due(3610.0)

    def test_rounds_keep_their_distance(self) -> None:
        """
        However often it is asked, one scan in 20 ms.
        """
        stop = keeper.Stop(10.0, 1.0)
        stop.request({}, 0.0, at_once=True)
        assert stop.round_due(0.0)
        assert not stop.round_due(0.019)
        assert stop.timeout_s(0.019) == pytest.approx(0.001)
        assert stop.round_due(0.02)

    def test_stragglers_have_the_shorter_one(self) -> None:
        """
        The earlier of two ends counts.
        """
        stop = keeper.Stop(10.0, 1.0)
        stop.request({}, 0.0, at_once=False)
        stop.chase(2.0)
        assert stop.timeout_s(2.0) == 1.0


def test_the_clock_is_read_after_the_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A request noted after an idle hour gets its whole grace.
    """
    clock = {"now": 0.0}
    monkeypatch.setattr(keeper.time, "monotonic", lambda: clock["now"])
    made = keeper.Keeper({"stop_grace_s": 10.0, "straggler_grace_s": 1.0}, -1, -1)
    clock["now"] = 3600.0
    news = signal.struct_siginfo((signal.SIGTERM, 0, 0, 1, 0, 0, 0))
    made.note(news)
    assert made.stop.kill_at == 3610.0
