"""
The engine contract over the fake engine, with everything it can do and with as little as an engine may.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from standfast.engines.fake import ALL, FakeEngine
from standfast.ports.engine import Capability
from standfast.system.clock import SystemClock
from standfast.testing.contracts.engine import CASES, Case, Programs, Subject

PROGRAMS = Programs(
    succeed={},
    fail={"ending": "failed", "exit_code": 3},
    last={"run_s": 600.0, "stop_s": 0.05},
    wrong={"run_s": "for ever"},
    brief={"run_s": 0.05},
    stubborn={"run_s": 600.0, "stop_s": 500.0},
    prints={"output": "one line\nand another\n"},
    printed=b"one line\nand another\n",
    fail_code=3,
)


def able() -> Subject:
    """
    A fake that declares every capability.
    """
    return _subject(FakeEngine(SystemClock()))


def plain() -> Subject:
    """
    A fake that only does what every engine must.
    """
    return _subject(FakeEngine(SystemClock(), capabilities=frozenset(), quiet_s=0.01))


def twice() -> Subject:
    """
    A fake that would take a handle twice, were it not looked for first.
    """
    return _subject(FakeEngine(SystemClock(), capabilities=ALL - {Capability.REFUSES_TWICE}, quiet_s=0.01))


def _subject(engine: FakeEngine) -> Subject:
    return Subject(make=lambda: engine, programs=PROGRAMS, starts=engine.starts)


@pytest.mark.parametrize("make", [able, plain, twice], ids=lambda make: make.__name__)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
async def test_engine_contract(case: Case, make: Callable[[], Subject]) -> None:
    """
    Each case's docstring is the fact.
    """
    await case(make())
