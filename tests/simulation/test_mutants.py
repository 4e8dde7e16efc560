"""
The simulation is worth something only if it catches mistakes; here are some, and it must catch each.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from mutants import MUTANTS

from standfast.testing.simulation import tell

SEEDS = 400
"""Stories in which a mistake must show; most show in the first few."""


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_every_mistake_is_caught(mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """
    With the mistake made, some story ends badly.
    """
    mutant(monkeypatch)

    assert any(not tell(seed, **MUTANTS[mutant]).good for seed in range(1, SEEDS + 1))
