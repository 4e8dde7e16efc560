"""
What a job inherits of ignored signals: nothing, whatever started the control plane.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from standfast.engines.process import keeper

MAKE_HANDS_ON = b"SigBlk:\t0000000000000000\nSigIgn:\t0000000181001000\nSigCgt:\t0000000000000002\n"
"""What a program sees that GNU make 4.3 has started: SIGPIPE and SIGXFSZ by Python, 32 and 33 by make."""

LAUNCH = """
import sys
from pathlib import Path
from standfast.engines.process.launcher import Command, launch
from standfast.engines.process.root import prepare

root = prepare(Path(sys.argv[1]), fresh_id="life")
print(type(launch(root, "sf-made-1", "digest", Command(argv=("true",), env={"PATH": "/usr/bin:/bin"}))).__name__)
"""


def test_numbers_of_the_c_library_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Signals that nobody may set are not reset, so that their being ignored refuses no job.
    """
    monkeypatch.setattr(keeper, "slurp", lambda path, limit_bytes=0: MAKE_HANDS_ON)

    assert set(keeper.ignored_signals()) == {signal.SIGPIPE, signal.SIGXFSZ}


def test_a_control_plane_that_make_started_can_launch(tmp_path: Path) -> None:
    """
    Started from a makefile, jobs run as they do from a shell.
    """
    (tmp_path / "Makefile").write_text(f"all:\n\t@{sys.executable} launch.py {tmp_path / 'root'}\n")
    (tmp_path / "launch.py").write_text(LAUNCH)

    made = subprocess.run(["make", "-s", "-C", str(tmp_path)], capture_output=True, text=True, check=True, timeout=30)

    assert made.stdout.strip() == "Started"
