"""
The crash sweep over the process engine: kill -9 at every named point and at random instants, then start again.

One workload holds every kind of change: a job that succeeds, one that fails twice for a retryable reason, one that is
cancelled while it runs. Whatever the point: each attempt ran once, none was lost, no retry was spent, nothing is left.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

import pytest
from ledger import Ledger
from plane import Plane, end_jobs, living

pytestmark = [pytest.mark.crash, pytest.mark.timeout(1500)]

FULL = os.environ.get("STANDFAST_CRASH") == "full"
RANDOM_INSTANTS = 200 if FULL else 15
SEED = int(os.environ.get("STANDFAST_CRASH_SEED", "20261201"))

STORE_POINTS = [
    f"commit.{event}.{side}"
    for event in (
        "Submitted",
        "LaunchBegun",
        "Started",
        "RetryScheduled",
        "BackoffElapsed",
        "Succeeded",
        "StopRequested",
        "Cancelled",
    )
    for side in ("before", "after")
]
ENGINE_POINTS = [f"{call}.{side}" for call in ("launch", "look", "halt") for side in ("before", "after")]
SQLITE_POINTS = [f"commit.{side}" for side in ("before", "after")]
LATER = [f"{point}#{n}" for point in ("launch.before", "launch.after", "look.after", "commit.after") for n in (3, 5)]
POINTS = [*STORE_POINTS, *ENGINE_POINTS, *SQLITE_POINTS, *LATER]

KEEPER_POINTS = [
    f"{point}:{who}"
    for point, who in (
        ("before_link", "each"),
        ("after_link", "each"),
        ("after_unlink", "each"),
        ("after_fork", "worker"),
        ("after_fork", "both"),
        ("after_started", "worker"),
        ("after_started", "both"),
        ("after_go", "worker"),
        ("before_ended", "worker"),
        ("after_ended", "worker"),
        ("after_ended", "both"),
        ("before_gone", "worker"),
        ("after_gone", "worker"),
    )
]


class Workload:
    """
    Three jobs and a cancel, sent again and again under the same request ids until each has an answer.
    """

    def __init__(self, plane: Plane, ledger: Ledger) -> None:
        self.plane = plane
        self.ledger = ledger
        retry = {"max_attempts": 3, "backoff_base_s": 0.05, "backoff_cap_s": 0.1}
        flaky = 'test "$STANDFAST_ATTEMPT" = 3 || exit 75'
        self.specs: dict[str, dict[str, Any]] = {
            "plain": {"program": {"argv": ledger.script("sleep 0.05")}},
            "flaky": {
                "program": {"argv": ledger.script(flaky)},
                "retry": retry,
                "exit_codes": {"75": "dependency"},
            },
            "sleeper": {"program": {"argv": ledger.script("sleep 600")}, "stop_grace_s": 2},
        }
        self.uids: dict[str, str] = {}

    def send(self) -> None:
        """
        One round of requests; lost answers are lost.
        """
        for name, spec in self.specs.items():
            uid = self.plane.submit(name, spec, key=f"key-{name}")
            if uid is not None:
                self.uids[name] = uid
        sleeper = self.uids.get("sleeper")
        if sleeper is not None:
            deadline = time.monotonic() + 5
            while time.monotonic() < deadline and self.plane.alive():
                status, job = self.plane.ask("GET", f"/v1/jobs/{sleeper}")
                if status == 200 and job["phase"] in ("running", "stopping", "cancelled"):
                    break
                time.sleep(0.01)
            self.plane.ask("POST", f"/v1/jobs/{sleeper}/cancel", {"reason": "sweep"})

    def settle(self) -> None:
        """
        Send until everything is accepted, and wait for the end of everything.
        """
        for name, spec in self.specs.items():
            self.uids[name] = self.plane.insist(name, spec, key=f"key-{name}")
        self.plane.wait(self.uids["sleeper"], {"running", "stopping", "cancelled"})
        status, answer = self.plane.ask("POST", f"/v1/jobs/{self.uids['sleeper']}/cancel", {"reason": "sweep"})
        assert status in (200, 202), answer
        for uid in self.uids.values():
            self.plane.wait(uid)

    def check(self, *, free: bool = False) -> None:
        """
        What must hold whatever happened. free: attempts that never ran may have been added, at no cost.
        """
        starts = self.ledger.noted("start")
        assert all(count == 1 for count in starts.values()), f"an attempt ran twice: {starts}"
        jobs = {name: self.plane.job(uid) for name, uid in self.uids.items()}
        assert jobs["plain"]["phase"] == "succeeded", jobs["plain"]["why"]
        assert jobs["flaky"]["phase"] == "succeeded", jobs["flaky"]["why"]
        assert jobs["sleeper"]["phase"] == "cancelled", jobs["sleeper"]["why"]
        for name, runs in {"plain": 1, "flaky": 3, "sleeper": 1}.items():
            attempts = self.plane.attempts(self.uids[name])
            handles = [attempt["handle"] for attempt in attempts]
            ran = [handle for handle in handles if starts[handle]]
            if not free:
                assert len(handles) == runs, f"{name}: a restart spent an attempt: {handles}"
                # A cancel may come before the command has noted anything.
                assert len(ran) == runs or name == "sleeper", f"{name}: lost: {handles}, ledger {starts}"
            assert not [pid for handle in handles for pid in living(handle)], f"{name}: left alive"
        assert set(starts) <= {a["handle"] for uid in self.uids.values() for a in self.plane.attempts(uid)}


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_a_point_of_the_control_plane(plane: Plane, tmp_path: Path, point: str) -> None:
    """
    Dying right there loses nothing, doubles nothing, and costs no retry.
    """
    work = Workload(plane, Ledger(tmp_path / "ledger"))
    plane.start(STANDFAST_FAILPOINT=point)
    work.send()
    deadline = time.monotonic() + 4
    while plane.alive() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not plane.alive(), f"{point} was not passed: it tests nothing"
    plane.start()

    work.settle()

    work.check()


@pytest.mark.parametrize("point", KEEPER_POINTS)
def test_killed_at_a_point_of_the_keeper(plane: Plane, tmp_path: Path, point: str) -> None:
    """
    A keeper that dies right there never makes two runs of one handle, and its job still ends.
    """
    ledger = Ledger(tmp_path / "ledger")
    work = Workload(plane, ledger)
    work.specs = {"plain": work.specs["plain"] | {"retry": {"max_attempts": 3, "backoff_base_s": 0.05}}}
    plane.start(STANDFAST_KEEPER_FAILPOINT=point)
    uid = plane.insist("plain", work.specs["plain"], key="key-plain")
    plane.wait(uid, {"running", "launching", "backing_off", "uncertain", "succeeded", "failed"})
    time.sleep(0.15)
    plane.kill()
    plane.start()

    job = plane.wait(uid, {"succeeded", "failed", "uncertain"})

    starts = ledger.noted("start")
    assert all(count == 1 for count in starts.values()), starts
    ended = ledger.noted("end")
    if job["phase"] == "succeeded":
        assert sum(ended.values()) >= 1
    else:
        # Both keepers died while it ran, so nobody heard its exit: said so, never invented, never run again.
        assert point.endswith(":both"), job["why"]
        assert job["why"]["reason"] in ("OutcomeUnknown", "GoneUnproven"), job["why"]


def test_killed_at_random_instants_under_load(tmp_path: Path) -> None:
    """
    Wherever the control plane is when it dies under load: one run per attempt, none lost, no orphan, no retry spent.
    """
    rng = random.Random(SEED)
    failed: list[str] = []
    plane = Plane(tmp_path)
    ledger = Ledger(tmp_path / "ledger")
    uids: dict[str, str] = {}
    try:
        for instant in range(RANDOM_INSTANTS):
            plane.start(ready=True)
            specs = {f"load-{instant}-{n}": {"program": {"argv": ledger.script("sleep 0.02")}} for n in range(6)}
            for name, spec in specs.items():
                plane.submit(name, spec, key=name)
            time.sleep(rng.uniform(0, 0.25))
            plane.kill()
            plane.start()
            for name, spec in specs.items():
                uids[name] = plane.insist(name, spec, key=name)
            for name in specs:
                job = plane.wait(uids[name])
                attempts = plane.attempts(uids[name])
                if job["phase"] != "succeeded" or len(attempts) != 1:
                    failed.append(f"{name}: {job['phase']}, {len(attempts)} attempts")
            plane.kill()
        starts = ledger.noted("start")
        failed += [f"{handle} ran {count} times" for handle, count in starts.items() if count != 1]
        if len(starts) != len(uids):
            failed.append(f"{len(uids)} jobs, {len(starts)} runs")
    finally:
        plane.kill()
        end_jobs(tmp_path)
    print(f"\nrandom instants: {RANDOM_INSTANTS}, seed {SEED}, jobs {len(uids)}, failures {len(failed)}")

    assert failed == []
