"""
The fork server: faster, and nothing else; its death, at any time and in any way, harms nobody.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from process_lab import ROUNDS, Lab, wait_dead

from standfast.engines.process import observe, spawner
from standfast.engines.process.launcher import Already, Launched, NoAnswer, Started
from standfast.engines.process.observe import Absent
from standfast.engines.process.spawner import STRIKES_MAX, Spawner
from standfast.engines.process.ticket import Exited

pytestmark = pytest.mark.crash


@pytest.fixture
def own(plain_lab: Lab) -> Iterator[Lab]:
    """
    A lab with a fork server of its own, up and running.
    """
    plain_lab.spawner = Spawner()
    plain_lab.launch("warm-up", plain_lab.sh("exit 0"))
    try:
        yield plain_lab
    finally:
        plain_lab.spawner.close()


def _server(lab: Lab) -> int:
    assert lab.spawner.server_pid is not None
    return lab.spawner.server_pid


def test_keepers_do_not_belong_to_the_server(own: Lab) -> None:
    """
    When it dies they live on, and the end of the job is recorded.
    """
    gate = own.pipe("gate")
    assert own.launch("a", own.sh(f"read x < {gate}; exit 3")) == Started()
    server = _server(own)
    for pid in own.pair("a"):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        assert server not in (int(fields[1]), int(fields[3]))
    os.kill(server, signal.SIGKILL)
    wait_dead(server)
    gate.write_text("go\n")
    seen = own.free("a")
    assert (seen.basis, seen.status) == ("gone", Exited(3))


def test_the_next_launch_has_another_server(own: Lab) -> None:
    """
    A dead one is replaced, a frozen one too, after the launch that met it went the plain way.
    """
    first = _server(own)
    os.kill(first, signal.SIGKILL)
    wait_dead(first)
    assert own.launch("a", own.counting()) == Started()
    second = _server(own)
    assert second != first
    os.kill(second, signal.SIGSTOP)
    assert isinstance(own.launch("b", own.counting(), timeout_s=0.3), NoAnswer)
    assert own.launch("b", own.counting()) == Started()
    assert _server(own) not in (first, second)
    for handle in ("a", "b"):
        own.free(handle)
        assert own.runs(handle) == 1


def test_a_server_killed_at_random_under_load(own: Lab) -> None:
    """
    Every launch comes to one run, with the server killed again and again while four threads launch.
    """
    rng = random.Random(3)
    handles = [f"r-{n}" for n in range(60 * ROUNDS)]
    answers: dict[str, Launched] = {}
    waiting = list(reversed(handles))
    command = own.counting()

    def work() -> None:
        while True:
            try:
                handle = waiting.pop()
            except IndexError:
                return
            answers[handle] = own.launch(handle, command)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        threads[0].join(rng.uniform(0.01, 0.1))
        if (pid := own.spawner.server_pid) is not None:
            process = Path(f"/proc/{pid}")
            if process.exists():
                os.kill(pid, signal.SIGKILL)
    for handle in handles:
        # Already: the keeper had claimed when the server, and with it the ack, was lost.
        assert isinstance(answers[handle], Started | Already), answers[handle]
        own.free(handle)
        assert own.runs(handle) == 1, handle


def test_a_server_that_cannot_start_is_given_up(own: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    After three tries every launch is a plain one.
    """
    monkeypatch.setattr(spawner, "SERVER_ARGV", ("/bin/false",))
    own.spawner.close()
    own.spawner = Spawner()
    for n in range(STRIKES_MAX + 2):
        assert own.launch(f"h-{n}", own.counting()) == Started()
        own.free(f"h-{n}")
        assert own.runs(f"h-{n}") == 1
    assert own.spawner.server_pid is None


def test_the_server_goes_with_its_control_plane(own: Lab) -> None:
    """
    However that dies: its end of the channel closes with it.
    """
    program = (
        "import os,signal;from pathlib import Path;from standfast.engines.process import root,launcher as l,spawner\n"
        "s = spawner.Spawner()\n"
        f"l.launch(root.open_root(Path({str(own.root.path)!r})),'a','d',l.Command(argv=('/bin/true',),env={{}}),spawner=s)\n"
        "print(s.server_pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    own.handles.add("a")
    assert done.returncode == -signal.SIGKILL
    wait_dead(int(done.stdout))
    assert own.free("a").status == Exited(0)


def test_a_forked_keeper_in_flight_is_seen(own: Lab) -> None:
    """
    Its environment is its own, not the server's: written over the placeholder.
    """
    own.launch("a", own.sh("exit 0"), failpoint="before_link:freeze", timeout_s=0.3)
    found = observe.observe(own.root, "a", search=True)
    assert isinstance(found, Absent)
    assert len(found.keepers) == 1
    content = Path(f"/proc/{found.keepers[0]}/environ").read_bytes()
    assert content.rstrip(b"\0") == b"STANDFAST_KEEPER=a"
    assert b"forkserver" in Path(f"/proc/{found.keepers[0]}/cmdline").read_bytes()
