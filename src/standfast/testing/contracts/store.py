"""
What every store must do: one case per fact, each a coroutine over a fresh `Subject`, told by its docstring.

Run every case of `CASES` against a factory of yours; a case raises AssertionError, and skips nothing unless the
subject's flags say so. Belongs here: facts of the store ports. Not here: anything about one adapter.
"""

from __future__ import annotations

from standfast.testing.contracts import store_lives, store_reads, store_steps, store_turns
from standfast.testing.contracts.cases import Case
from standfast.testing.contracts.histories import Store, Subject

__all__ = ["CASES", "Case", "Store", "Subject"]

CASES: tuple[Case, ...] = (*store_steps.CASES, *store_turns.CASES, *store_reads.CASES, *store_lives.CASES)
