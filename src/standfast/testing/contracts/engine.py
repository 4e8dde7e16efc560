"""
What every engine must do: one case per fact, each a coroutine over a fresh `Subject`, told by its docstring.

Run every case of `CASES` against a factory of yours. What an engine cannot do, it does not declare, and what your
programs cannot say is None: such a case ends early. Belongs here: facts of the engine port. Not here: one adapter's.
"""

from __future__ import annotations

from standfast.testing.contracts import engine_ends, engine_launches, engine_remains, engine_stops
from standfast.testing.contracts.engine_bench import Case, Programs, Subject

__all__ = ["CASES", "Case", "Programs", "Subject"]

CASES: tuple[Case, ...] = (
    *engine_launches.CASES,
    *engine_ends.CASES,
    *engine_stops.CASES,
    *engine_remains.CASES,
)
