"""
The crash sweep over real Spark: the control plane dies at a dozen points around spark-submit, and starts again.

Every point has a control plane of its own; their Spark drivers overlap, so that a dozen JVM starts fit the machine.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from ledger import Ledger
from plane import Plane, end_jobs, living

FULL = os.environ.get("STANDFAST_CRASH") == "full"

pytestmark = [
    pytest.mark.crash,
    pytest.mark.spark,
    pytest.mark.timeout(900),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no JDK here"),
    pytest.mark.skipif(find_spec("pyspark") is None, reason="pyspark is not installed"),
]

POINTS = [
    "commit.Submitted.before",
    "commit.Submitted.after",
    "commit.LaunchBegun.before",
    "commit.LaunchBegun.after",
    "launch.before",
    "launch.after",
    "commit.Started.before",
    "commit.Started.after",
    "look.before",
    "look.after#2",
    "commit.Succeeded.before",
    "commit.Succeeded.after",
]
DRIVERS_AT_ONCE = 2
QUICK = POINTS if FULL else [POINTS[3], POINTS[5], POINTS[10]]

SCRIPT = """
import os, sys
from pyspark.sql import SparkSession

def note(word):
    ledger = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
    os.write(ledger, f"{os.environ['STANDFAST_ATTEMPT_ID']} {word}\\n".encode())
    os.close(ledger)

note("start")
spark = SparkSession.builder.getOrCreate()
assert spark.range(1000).selectExpr("sum(id)").collect()[0][0] == 499500
spark.stop()
note("end")
"""


def test_killed_at_points_around_a_spark_driver(tmp_path: Path) -> None:
    """
    One driver per attempt, none lost, none left, no retry spent, and a receipt behind every verdict.
    """
    script = tmp_path / "job.py"
    script.write_text(SCRIPT)
    failed: list[str] = []
    planes: list[tuple[str, Plane, Ledger, str]] = []
    try:
        for index, point in enumerate(QUICK):
            folder = tmp_path / f"plane-{index}"
            plane, ledger = Plane(folder, engines="spark"), Ledger(_made(folder) / "ledger")
            spec = {
                "engine": "spark",
                "program": {
                    "main": str(script),
                    "args": [str(ledger.path)],
                    "master": "local[1]",
                    "python": sys.executable,
                    "conf": {"spark.ui.enabled": "false"},
                },
                "retry": {"max_attempts": 3},
            }
            plane.start(STANDFAST_FAILPOINT=point)
            plane.submit("sweep", spec, key="sweep")
            # What comes at the end of a driver's life takes as long as the driver.
            deadline = time.monotonic() + (120 if "Succeeded" in point or "look" in point else 20)
            while plane.alive() and time.monotonic() < deadline:
                time.sleep(0.05)
            if plane.alive():
                failed.append(f"{point} was not passed")
                plane.kill()
            plane.start()
            uid = plane.insist("sweep", spec, key="sweep")
            planes.append((point, plane, ledger, uid))
            if index >= DRIVERS_AT_ONCE - 1:
                waited = planes[index - DRIVERS_AT_ONCE + 1]
                waited[1].wait(waited[3], timeout_s=180)
        for point, plane, ledger, uid in planes:
            job = plane.wait(uid, timeout_s=180)
            attempts = plane.attempts(uid)
            starts = ledger.noted("start")
            ranks = {e["rank"] for a in attempts for e in a["evidence"] if e["verdict"] == "proven"}
            if job["phase"] != "succeeded" or len(attempts) != 1 or list(starts.values()) != [1]:
                failed.append(f"{point}: {job['phase']}, {len(attempts)} attempts, ledger {starts}, {job['why']}")
            elif "receipt" not in ranks:
                failed.append(f"{point}: no receipt among {ranks}")
            failed += [f"{point}: left alive {living(a['handle'])}" for a in attempts if living(a["handle"])]
    finally:
        for _, plane, _, _ in planes:
            plane.kill()
        end_jobs(tmp_path)
    print(f"\nspark points: {len(QUICK)}, failures: {len(failed)}")

    assert failed == []


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
