"""
Patterns of failure rules: what is refused, and that no pattern takes long.
"""

from __future__ import annotations

import time

import pytest

from standfast.core.failure import FailureClass, Rule, Symptoms, classify
from standfast.core.failure.patterns import PATTERN_CHARS_MAX, SIZE_MAX, TEXT_CHARS_MAX, found, wrong

HOSTILE = (
    (r"(a+)+$", "a" * TEXT_CHARS_MAX + "!"),
    (r"(a|a)*b", "a" * TEXT_CHARS_MAX),
    (r"(.*a){12}b", "a" * TEXT_CHARS_MAX),
    (r".*.*.*.*x", "a" * TEXT_CHARS_MAX),
    (r"(?:a{1,100}){1,9}b", "a" * TEXT_CHARS_MAX),
    (r"(?:a?){400}a{400}b", "a" * TEXT_CHARS_MAX),
    (r"(([a-z])+.)+[A-Z]([a-z])+$", "a" * TEXT_CHARS_MAX),
)


@pytest.mark.parametrize(("pattern", "text"), HOSTILE, ids=[pattern for pattern, _ in HOSTILE])
def test_a_hostile_pattern_that_gets_in_is_over_soon(pattern: str, text: str) -> None:
    """
    What the door lets pass costs a second of this processor at the very most, where backtracking would take for ever.
    """
    assert list(wrong([pattern])) == []
    begun = time.process_time()
    assert not found(pattern, text + "\n")
    assert time.process_time() - begun < 1.0


@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        ("(", "malformed"),
        (r"a(?=b)", "malformed"),
        (r"(a)\1", "malformed"),
        (r"(?:.{1,1000}){1,1000}", "malformed"),
        (r".{0,400}", "too_large"),
        ("a" * (PATTERN_CHARS_MAX + 1), "too_large"),
    ],
)
def test_what_cannot_be_run_safely_is_refused(pattern: str, code: str) -> None:
    """
    With its place among the rules, those without a pattern counted.
    """
    assert [(index, told) for index, told, _ in wrong([None, "fine", pattern])] == [(2, code)]


def test_rules_share_one_bound() -> None:
    """
    Many small patterns may not add up to a large one; the first that goes beyond is named, once.
    """
    some = [r"x.{0,60}y"] * 20
    ((index, code, message),) = wrong(some)

    assert 1 < index < 19 and code == "too_large" and str(SIZE_MAX) in message
    assert list(wrong(some[:index])) == []


def test_case_is_no_matter_and_the_end_of_the_text_is_searched() -> None:
    """
    Where a program says why it failed.
    """
    assert found("No SPACE left", "x" * 10_000 + " no space left on device")
    assert not found("first line", "first line\n" + "x" * TEXT_CHARS_MAX)
    assert found("größe", "Die GRÖSSE? nein, die GRÖßE")


def test_a_pattern_of_an_old_record_that_cannot_be_run_fits_nothing() -> None:
    """
    The job's end is decided all the same, by the next rule.
    """
    old = Rule(name="old", failure_class=FailureClass.DEPENDENCY, code="old", text=r"(?<=a)b")
    new = Rule(name="new", failure_class=FailureClass.THROTTLED, code="new", text="ab")

    assert classify((old, new), Symptoms(text="ab")).rule == "new"
