"""
The crash sweep over removal: kill -9 while the remainders of a finished job go, then start again.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from ledger import Ledger
from plane import Plane

pytestmark = [pytest.mark.crash, pytest.mark.timeout(120)]

POINTS = [f"remove.{side}#{n}" for side in ("before", "after") for n in (1, 2, 4, 5)]


@pytest.mark.parametrize("point", POINTS)
def test_killed_while_a_finished_job_is_removed(plane: Plane, tmp_path: Path, point: str) -> None:
    """
    Whatever was left goes after the restart: output, ticket, record; and what had run does not run again.
    """
    ledger = Ledger(tmp_path / "ledger")
    spec = {"program": {"argv": ledger.script()}, "ttl": {"logs_s": 0, "record_s": 0}}
    plane.start(STANDFAST_FAILPOINT=point)
    uid = plane.insist("brief", spec, key="brief")
    deadline = time.monotonic() + 20
    while plane.alive() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not plane.alive(), f"{point} was not passed: it tests nothing"
    plane.start()

    while plane.ask("GET", f"/v1/jobs/{uid}")[0] != 404 and time.monotonic() < deadline + 20:
        time.sleep(0.05)

    assert plane.ask("GET", f"/v1/jobs/{uid}")[0] == 404
    root = tmp_path / "state/engines/process"
    assert list((root / "runs").iterdir()) == []
    assert list((root / "tickets").iterdir()) == []
    assert list(ledger.noted("start").values()) == [1]
