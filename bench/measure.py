"""
What one round measured, and how a round is run: in a process of its own, so that its CPU and memory are its own.

Belongs here: contenders, rounds, figures, percentiles. Not here: what is measured (one module per workload) or how it
is shown (`report`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

ROUND_S = 900.0
"""Longest one round may take; a round that takes longer is a fault, not a figure."""


@dataclass(frozen=True, eq=False)
class Contender:
    """
    One row: a function of a module, run in a fresh process with these parameters.

    goals: by figure, `>= 5000` or `<= 15`. ratios: (figure, name of the row compared with, goal of the ratio).
    rounds: at most so many. Compared by identity.
    """

    workload: str
    name: str
    module: str
    function: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    goals: Mapping[str, str] = field(default_factory=dict)
    ratios: tuple[tuple[str, str, str], ...] = ()
    rounds: int | None = None


@dataclass(frozen=True)
class Round:
    """
    What one round told. figures: by name with unit. audit: what was checked after it, or why it does not count.
    """

    figures: Mapping[str, float]
    audit: str
    sound: bool = True


def run_round(contender: Contender, folder: Path) -> Round:
    """
    One round in a fresh process, with `folder` for its files; a crash or a failed audit makes it unsound.
    """
    command = [sys.executable, str(HERE / "round.py"), contender.module, contender.function]
    given = json.dumps({**contender.parameters, "folder": str(folder)})
    # As a user has it: compiled modules are kept, and no setting of ours comes from outside.
    ours = ("STANDFAST_", "PYTHONDONTWRITEBYTECODE")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    try:
        done = subprocess.run(
            [*command, given], capture_output=True, text=True, timeout=ROUND_S, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        return Round({}, f"not done within {ROUND_S:.0f} s", sound=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return Round({}, f"failed: {last[:200]}", sound=False)
    told = json.loads(done.stdout.strip().splitlines()[-1])
    return Round(told["figures"], told["audit"])


def percentile(values: Sequence[float], part: float) -> float:
    """
    The value that `part` (0..1) of all are at or below; values: (n,), any order, n >= 1.
    """
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def latencies(seconds: Sequence[float], *, prefix: str = "") -> dict[str, float]:
    """
    p50 and p99 in milliseconds.
    """
    return {f"{prefix}p50 ms": percentile(seconds, 0.50) * 1e3, f"{prefix}p99 ms": percentile(seconds, 0.99) * 1e3}


def demand(good: bool, what: str) -> None:
    """
    A check of the audit; a figure whose audit fails does not count.
    """
    if not good:
        raise SystemExit(f"audit: {what}")
