"""
The contracts of the small ports over this machine's adapters.
"""

from __future__ import annotations

import pytest

from standfast.system.clock import SystemClock
from standfast.system.ids import SystemIds
from standfast.system.wakeups import LoopWakeups
from standfast.testing.contracts import clock, ids, wakeups


@pytest.mark.parametrize("case", clock.CASES, ids=lambda case: case.__name__)
async def test_clock_contract(case: clock.Case) -> None:
    """
    Each case's docstring is the fact.
    """
    await case(SystemClock())


@pytest.mark.parametrize("case", ids.CASES, ids=lambda case: case.__name__)
async def test_ids_contract(case: ids.Case) -> None:
    """
    Each case's docstring is the fact.
    """
    await case(SystemIds)


@pytest.mark.parametrize("case", wakeups.CASES, ids=lambda case: case.__name__)
async def test_wakeups_contract(case: wakeups.Case) -> None:
    """
    Each case's docstring is the fact.
    """
    system = SystemClock()
    await case(wakeups.Subject(LoopWakeups(system), system))
