"""
Bad days: what happens to real jobs when the world around them goes wrong.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path

import pytest
from ledger import Ledger
from plane import Plane, living

pytestmark = [pytest.mark.crash, pytest.mark.timeout(180)]

FULL = os.environ.get("STANDFAST_CRASH") == "full"


def test_machine_rebooted(plane: Plane, tmp_path: Path) -> None:
    """
    A reboot ends the attempt as node_lost, proven dead, and the retry policy starts the next one; nothing runs twice.
    """
    ledger = Ledger(tmp_path / "ledger")
    plane.start()
    waits = ledger.script('test "$STANDFAST_ATTEMPT" = 1 && sleep 600')
    uid = plane.insist(
        "reboot", {"program": {"argv": waits}, "retry": {"max_attempts": 2, "backoff_base_s": 0}}, key="k"
    )
    plane.wait(uid, {"running"})
    handle = plane.attempts(uid)[0]["handle"]
    plane.kill()
    ticket = tmp_path / "state/engines/process/tickets" / handle
    _kill_everything(tmp_path, handle)
    boot = Path("/proc/sys/kernel/random/boot_id").read_bytes().strip()
    data = ticket.read_bytes()
    assert boot in data
    with ticket.open("r+b") as file:
        file.write(data.replace(boot, b"00000000-0000-0000-0000-000000000000"))
    plane.start()

    job = plane.wait(uid)

    first, second = plane.attempts(uid)
    assert job["phase"] == "succeeded"
    assert (first["ending"], first["failure"]["failure_class"]) == ("failed", "node_lost")
    assert [e["verdict"] for e in first["evidence"] if e["claim"] == "gone"] == ["proven"]
    assert ledger.noted("start") == {handle: 1, second["handle"]: 1}


def test_engine_folder_deleted_under_a_running_job(plane: Plane, tmp_path: Path) -> None:
    """
    Without its folder the engine knows nothing, and nothing is what is concluded: no failure, no second run.
    """
    ledger = Ledger(tmp_path / "ledger")
    plane.start()
    uid = plane.insist("bereft", {"program": {"argv": ledger.script("sleep 600")}}, key="k")
    plane.wait(uid, {"running"})
    handle = plane.attempts(uid)[0]["handle"]
    shutil.rmtree(tmp_path / "state/engines/process")
    deadline = time.monotonic() + 20
    while plane.job(uid)["why"]["reason"] != "ContactLost" and time.monotonic() < deadline:
        time.sleep(0.05)

    job = plane.job(uid)

    assert (job["phase"], job["why"]["reason"]) == ("running", "ContactLost")
    assert ledger.noted("start") == {handle: 1}
    assert living(handle)
    plane.kill()
    plane.start()
    time.sleep(1.5)
    assert plane.job(uid)["phase"] in ("running", "uncertain")
    assert ledger.noted("start") == {handle: 1}


def test_state_folder_deleted(plane: Plane, tmp_path: Path) -> None:
    """
    With everything deleted a new control plane knows nothing and starts nothing; what ran goes on unharmed.
    """
    ledger = Ledger(tmp_path / "ledger")
    plane.start()
    uid = plane.insist("bereft", {"program": {"argv": ledger.script("sleep 3")}}, key="k")
    plane.wait(uid, {"running"})
    handle = plane.attempts(uid)[0]["handle"]
    shutil.rmtree(tmp_path / "state")
    plane.kill()
    plane.start()

    assert plane.ask("GET", f"/v1/jobs/{uid}")[0] == 404
    deadline = time.monotonic() + 10
    while not ledger.noted("end") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert (ledger.noted("start"), ledger.noted("end")) == ({handle: 1}, {handle: 1})


def test_a_job_that_ignores_sigterm_and_forks_away(plane: Plane, tmp_path: Path) -> None:
    """
    Cancelled means gone: also a child in a session of its own that hears no signal.
    """
    ledger = Ledger(tmp_path / "ledger")
    deaf = (
        "trap '' TERM HUP INT; setsid sh -c \"trap '' TERM; while :; do sleep 0.1; done\" & while :; do sleep 0.1; done"
    )
    plane.start()
    uid = plane.insist("deaf", {"program": {"argv": ledger.script(deaf)}, "stop_grace_s": 0.5}, key="k")
    plane.wait(uid, {"running"})
    handle = plane.attempts(uid)[0]["handle"]
    deadline = time.monotonic() + 10
    while len(living(handle)) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(living(handle)) >= 3
    plane.ask("POST", f"/v1/jobs/{uid}/cancel", {})

    job = plane.wait(uid)

    assert job["phase"] == "cancelled"
    assert living(handle) == []


def test_much_output(plane: Plane) -> None:
    """
    Output goes to a file of its own: the control plane neither holds it nor slows down, and any part can be read.
    """
    mib = 1024 if FULL else 200
    plane.start()
    words = ["sh", "-c", f"head -c {mib}M /dev/zero; echo; echo the last line"]
    uid = plane.insist("loud", {"program": {"argv": words}}, key="k")

    job = plane.wait(uid, timeout_s=60)

    status, tail = plane.ask("GET", f"/v1/jobs/{uid}/logs?tail=14")
    assert (job["phase"], status, tail) == ("succeeded", 200, "the last line\n")
    assert plane.process is not None
    resident = Path(f"/proc/{plane.process.pid}/status").read_text().partition("VmRSS:")[2].split()[0]
    assert int(resident) < 200 * 1024, f"{resident} KiB resident"


def test_unicode_everywhere(plane: Plane, tmp_path: Path) -> None:
    """
    Arguments, variables, labels, reasons and output keep every character, and bytes that are none are no trouble.
    """
    text = "søk 東京 🦆 \u202eabc\u0301"
    words = ["sh", "-c", 'printf "%s|%s\\n" "$1" "$DUCK"; printf "\\377\\376"', "sh", text]
    plane.start()
    status, answer = plane.ask(
        "POST",
        "/v1/jobs",
        {"name": "unicode", "labels": {"størrelse": text}, "spec": {"program": {"argv": words, "env": {"DUCK": text}}}},
    )
    assert status == 201, answer
    uid = answer["uid"]

    job = plane.wait(uid)

    assert job["labels"] == {"størrelse": text}
    output = tmp_path / "state/engines/process/runs" / job["attempt"]["handle"] / "stdout"
    assert output.read_bytes() == f"{text}|{text}\n".encode() + b"\xff\xfe"
    assert plane.ask("GET", f"/v1/jobs/{uid}/logs")[0] == 200


def test_ten_thousand_queued_jobs_at_the_start(plane: Plane) -> None:
    """
    A long queue costs a start nothing that one can feel, and is served in its order.
    """
    plane.start(STANDFAST_ENGINE_SLOTS="process=1")
    blocker = plane.insist("blocker", {"program": {"argv": ["sleep", "600"]}}, key="blocker")
    plane.wait(blocker, {"running"})
    for batch in range(10):
        jobs = [
            {"name": "queued", "request_id": f"{batch}-{n}", "spec": {"program": {"argv": ["true"]}}}
            for n in range(1000)
        ]
        status, answer = plane.ask("POST", "/v1/jobs/batch", {"jobs": jobs})
        assert status == 200, answer
    first = answer["items"][0]["uid"]
    plane.kill()

    began = time.monotonic()
    plane.start(STANDFAST_ENGINE_SLOTS="process=1")
    took_s = time.monotonic() - began

    assert took_s < 10
    status, counts = plane.ask("GET", "/v1/counts?by=phase")
    assert {c["phase"]: c["count"] for c in counts["items"]} == {"queued": 10_000, "running": 1}
    assert "9000 before it" in plane.job(first)["why"]["message"]
    plane.ask("POST", f"/v1/jobs/{blocker}/cancel", {})
    plane.wait(blocker)


def test_a_second_control_plane_on_the_same_folder_is_refused(plane: Plane, tmp_path: Path) -> None:
    """
    Two processes never share a state folder: the second says who holds it, and the first is not disturbed.
    """
    plane.start()
    other = Plane(tmp_path)
    other.log = tmp_path / "other.log"
    other.start(ready=False)
    assert other.process is not None and plane.process is not None

    assert other.process.wait(20) != 0

    assert str(plane.process.pid) in other.log.read_text()
    assert plane.ask("GET", "/readyz")[0] == 200


def test_sigterm_drains_and_leaves_jobs_running(plane: Plane, tmp_path: Path) -> None:
    """
    A polite stop ends the control plane, not the jobs, and the next one finds them.
    """
    ledger = Ledger(tmp_path / "ledger")
    plane.start()
    uid = plane.insist("steady", {"program": {"argv": ledger.script("sleep 1.5")}}, key="k")
    plane.wait(uid, {"running"})

    assert plane.stop() in (0, -signal.SIGTERM)
    time.sleep(1.6)
    plane.start()
    job = plane.wait(uid)

    assert job["phase"] == "succeeded"
    assert set(ledger.noted("start").values()) == {1}


def _kill_everything(folder: Path, handle: str) -> None:
    """
    Kill the attempt's keepers and all its processes, as a power cut would.
    """
    marks = [f"STANDFAST_ATTEMPT_ID={handle}".encode(), f"STANDFAST_KEEPER={handle}".encode()]
    for _ in range(3):
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    seen = (entry / "environ").read_bytes().split(b"\0")
                    holds = any(os.readlink(fd).endswith(handle) for fd in (entry / "fd").iterdir())
                    if holds or any(mark in seen for mark in marks):
                        os.kill(int(entry.name), signal.SIGKILL)
                except OSError:
                    continue
        time.sleep(0.05)
