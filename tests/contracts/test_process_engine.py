"""
The engine contract over the process engine: real processes under real keepers.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from standfast.engines.process import build
from standfast.ports.engine import EngineContext
from standfast.system.clock import SystemClock
from standfast.system.ids import SystemIds
from standfast.testing.contracts.engine import CASES, Case, Programs, Subject


def _subject(folder: Path) -> Subject:
    """
    A process engine whose jobs note their start in a ledger.
    """
    ledger = folder / "ledger"
    ledger.touch()

    def command(rest: str) -> dict[str, object]:
        return {"argv": ["sh", "-c", f'echo "$STANDFAST_ATTEMPT_ID" >> {ledger}; {rest}']}

    def starts(handle: str) -> int:
        return ledger.read_text().split().count(handle)

    programs = Programs(
        succeed=command("true"),
        fail=command("exit 3"),
        last=command("exec sleep 600"),
        wrong={"argv": [1]},
        brief=command("sleep 0.05"),
        stubborn=command("trap '' TERM; while :; do sleep 0.05; done"),
        prints=command("echo one line; echo and another"),
        printed=b"one line\nand another\n",
        fail_code=3,
    )
    context = EngineContext(folder / "engine", SystemClock(), SystemIds())
    return Subject(make=lambda: build(context), programs=programs, starts=starts)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
async def test_engine_contract(case: Case, tmp_path: Path) -> None:
    """
    Each case's docstring is the fact.
    """
    await case(_subject(tmp_path))
