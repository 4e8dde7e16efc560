"""
The environment a job gets: a short allow-list, what the spec says, and what a job may know about itself.

Belongs here: building it, purely. The control plane's own environment is never passed on: it holds its secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from standfast.engines.process.launcher import JOB_COOKIE

ALLOWED = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR")


def build(
    run_directory: Path,
    handle: str,
    spec: Mapping[str, str],
    *,
    base: Mapping[str, str],
    job: str,
    attempt: int,
    fence: int,
    stop_grace_s: float,
) -> dict[str, str]:
    """
    The whole environment of one attempt.

    Args:
        spec: What the user asked for; may override `base`, but nothing named STANDFAST_*.
        base: The environment of the control plane, of which only PATH HOME USER LANG TZ TMPDIR are taken.
        attempt: Number from 1. fence: grows with every lease, so that a job can guard its own writes.
        stop_grace_s: Seconds between TERM and KILL.
    """
    own = {
        "STANDFAST_JOB": job,
        "STANDFAST_ATTEMPT": str(attempt),
        JOB_COOKIE: handle,
        "STANDFAST_FENCE": str(fence),
        "STANDFAST_RUN_DIR": str(run_directory),
        "STANDFAST_RECEIPT": str(run_directory / "receipt.json"),
        "STANDFAST_STOP_GRACE": f"{stop_grace_s:g}",
    }
    return {name: base[name] for name in ALLOWED if name in base} | dict(spec) | own
