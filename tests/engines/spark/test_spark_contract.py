"""
The engine contract over the Spark engine: real processes under real keepers, and a stand-in for spark-submit.

What is Spark's own is elsewhere (`test_spark_real`); here the port's promises, which must not break on the way from
the process engine. The stand-in notes its start and runs its last argument as a shell script.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from standfast.engines.spark import build
from standfast.ports.engine import EngineContext
from standfast.system.clock import SystemClock
from standfast.system.ids import SystemIds
from standfast.testing.contracts.engine import CASES, Case, Programs, Subject

STAND_IN = '#!/bin/sh\nfor last; do :; done\necho "$STANDFAST_ATTEMPT_ID" >> "$LEDGER"\nexec sh -c "$last"\n'


def _subject(folder: Path) -> Subject:
    """
    A Spark engine on a Spark and a Java that are made of shell.
    """
    ledger, jar = folder / "ledger", folder / "main.jar"
    ledger.touch()
    jar.touch()
    for tool in ("spark-submit", "java"):
        path = folder / "home" / "bin" / tool
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(STAND_IN)
        path.chmod(0o755)

    def program(rest: str) -> dict[str, object]:
        home = str(folder / "home")
        return {
            "main": str(jar),
            "args": [rest],
            "spark_home": home,
            "env": {"JAVA_HOME": home, "LEDGER": str(ledger)},
        }

    def starts(handle: str) -> int:
        return ledger.read_text().split().count(handle)

    programs = Programs(
        succeed=program("true"),
        fail=program("exit 3"),
        last=program("exec sleep 600"),
        wrong={"main": 1},
        brief=program("sleep 0.05"),
        stubborn=program("trap '' TERM; while :; do sleep 0.05; done"),
        prints=program("echo one line; echo and another"),
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
