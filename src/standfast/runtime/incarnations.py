"""
In which life each engine was last heard, so that a job that may start at once need not wait for the question.

Belongs here: what was heard, when, and for how long it is taken to hold. Not here: asking (`lane`, `admission`).
"""

from __future__ import annotations

import asyncio

KNOWN_S = 30.0
"""How long an engine that says nothing is taken to live on as it did."""


class Incarnations:
    """
    The present life of every engine that answered lately.
    """

    def __init__(self) -> None:
        self._opened: set[str] = set()
        self._heard: dict[str, tuple[str, float]] = {}

    def opened(self, engine: str) -> None:
        """
        The engine takes launches from now on.
        """
        self._opened.add(engine)

    def heard(self, engine: str, incarnation: str, *, asked_s: float) -> None:
        """
        It answered in that life when it was asked at `asked_s` of the event loop's time; answers may overtake.
        """
        known = self._heard.get(engine)
        if known is None or known[1] <= asked_s:
            self._heard[engine] = (incarnation, asked_s)

    def silent(self, engine: str) -> None:
        """
        It did not answer, so nobody knows whether it lives on.
        """
        self._heard.pop(engine, None)

    def known(self, engine: str) -> str | None:
        """
        The life that it lives; None if it was not opened, or not heard of lately.
        """
        known = self._heard.get(engine)
        if known is None or engine not in self._opened:
            return None
        return known[0] if asyncio.get_running_loop().time() - known[1] <= KNOWN_S else None
