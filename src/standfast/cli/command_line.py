"""
The words of the command line before they are parsed: what stands behind `--` belongs to the job.

Belongs here: the few questions that must be answered without parsing. Not here: flags (`options`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar

_behind: ContextVar[tuple[str, ...] | None] = ContextVar("behind", default=None)


def split(words: Sequence[str]) -> tuple[list[str], bool]:
    """
    The words up to the first `--`, and whether they hold `--pass-exit-code`; what follows is kept for `behind`.
    """
    words = list(words)
    where = words.index("--") if "--" in words else len(words)
    _behind.set(tuple(words[where + 1 :]) if where < len(words) else None)
    return words[:where], "--pass-exit-code" in words[:where]


def behind() -> tuple[str, ...] | None:
    """
    The words behind `--`; None if there was no `--`.
    """
    return _behind.get()


def wants_json(words: Sequence[str]) -> bool:
    """
    Whether errors too are wanted as documents, as far as flags say so.
    """
    return any(
        word in ("-ojson", "-ojsonl", "--output=json", "--output=jsonl", "-o=json")
        or (word in ("json", "jsonl") and before in ("-o", "--output"))
        for before, word in zip(("", *words), words, strict=False)
    )
