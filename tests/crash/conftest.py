"""
Folders and control planes for crash tests, ended by pid whatever happens.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from plane import Plane


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[Plane]:
    """
    A control plane on a fresh folder; after the test nothing that it started is alive.
    """
    made = Plane(tmp_path)
    yield made
    made.kill()
    end_jobs(tmp_path)


def end_jobs(folder: Path) -> None:
    """
    Kill every process whose environment or command line names the folder.
    """
    mark = str(folder).encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                seen = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
                if mark in seen and b"pytest" not in (entry / "cmdline").read_bytes():
                    os.kill(int(entry.name), signal.SIGKILL)
            except OSError:
                continue
