"""
What is known about the way an attempt ended, before anyone gave it a name.

Belongs here: the shape engines fill in. Not here: judgement (see `rules.py`).
"""

from __future__ import annotations

import msgspec


class Symptoms(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """
    Facts about an end; every field may be absent.

    exit_code: 0..255. signal: number. exceptions: class names, outermost first, deepest cause last, each with its
    bases (`pyspark.errors.AnalysisException`). condition, sqlstate: the engine's typed error. word: the engine's
    status word or stage, verbatim. text: at most 2,000 characters of message or output.
    """

    exit_code: int | None = None
    signal: int | None = None
    exceptions: tuple[str, ...] = ()
    condition: str | None = None
    sqlstate: str | None = None
    word: str | None = None
    text: str | None = None

    @property
    def headline(self) -> str:
        """
        One line that a person would quote: how it ended, and the last line of its message.
        """
        how = None
        if self.signal is not None:
            how = f"killed by signal {self.signal}"
        elif self.exit_code is not None:
            how = f"exit status {self.exit_code}"
        lines = (self.text or "").strip().splitlines()
        last = lines[-1].strip()[:300] if lines else None
        return ": ".join(part for part in (how, last) if part) or self.word or "no message"
