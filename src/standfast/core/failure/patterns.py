"""
Regular expressions of failure rules, run in a time that is linear in the text, whatever the pattern.

Belongs here: the syntax (RE2's), its bounds, the search. Not here: which rule fits (`rules`). Pure: a pattern and a
text go in, yes or no comes out; no clock is asked, so the same failure is classified alike every time.

Why not `re`: it tries alternatives one after the other, and `(a+)+$` on 26 letters takes seconds, 30 a minute. See
docs/internals/decisions/0015-linear-patterns.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

SIZE_MAX = 2000
"""Instructions of all compiled patterns of one job; a plain word has some ten, `.{0,100}` a thousand."""

PATTERN_CHARS_MAX = 1000
TEXT_CHARS_MAX = 4096
"""Of a text that is searched: its end, where a program says why it failed."""

_MEMORY_BYTES = 256 * 1024
"""For one pattern with its caches."""

CACHED = 256


def found(pattern: str, text: str) -> bool:
    """
    Whether the pattern is found in the last `TEXT_CHARS_MAX` characters of the text, without regard to case.

    A pattern that cannot be run is found nowhere; `wrong` refuses it at the door, but an old record may hold one.
    """
    compiled = _compiled(pattern)
    return not isinstance(compiled, str) and compiled.search(text[-TEXT_CHARS_MAX:]) is not None


def wrong(patterns: Sequence[str | None]) -> Iterator[tuple[int, str, str]]:
    """
    The patterns that cannot be run, each with its index, an error code and what is wrong with it.
    """
    size = 0
    for index, pattern in enumerate(patterns):
        if pattern is None:
            continue
        if len(pattern) > PATTERN_CHARS_MAX:
            yield index, "too_large", f"is longer than {PATTERN_CHARS_MAX} characters"
            continue
        compiled = _compiled(pattern)
        if isinstance(compiled, str):
            yield index, "malformed", f"is no regular expression in RE2's syntax: {compiled}"
            continue
        size += compiled.programsize
        if size > SIZE_MAX:
            yield index, "too_large", f"makes the rules too large: {size} steps, at most {SIZE_MAX}; repeat less"
            return


@lru_cache(maxsize=CACHED)
def _compiled(pattern: str) -> Any:
    """
    The compiled pattern, or what is wrong with it.
    """
    import re2  # here, because few jobs have such rules and it takes 15 ms to load

    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = _MEMORY_BYTES
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        told = error.args[0] if error.args else error
        return told.decode(errors="replace") if isinstance(told, bytes) else str(told)
