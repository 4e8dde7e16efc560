"""
Failures as values: rules, classes, fingerprints, headlines.
"""

from __future__ import annotations

import pytest

from standfast.core.failure import TRAITS, Failure, FailureClass, Rule, Symptoms, classify, fingerprint
from standfast.core.failure.rules import fits

OOM = FailureClass.OUT_OF_MEMORY


def _rule(**fields: object) -> Rule:
    return Rule(**({"name": "r", "failure_class": OOM, "code": "c"} | fields))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rule", "seen", "expected"),
    [
        (_rule(), Symptoms(), True),
        (_rule(exit_codes=(3, 4)), Symptoms(exit_code=4), True),
        (_rule(exit_codes=(3, 4)), Symptoms(exit_code=5), False),
        (_rule(exit_codes=(3,)), Symptoms(), False),
        (_rule(signals=(9,)), Symptoms(signal=9), True),
        (_rule(signals=(9,)), Symptoms(exit_code=9), False),
        (_rule(words=("LOST",)), Symptoms(word="LOST"), True),
        (_rule(words=("LOST",)), Symptoms(word="LOSTER"), False),
        (_rule(conditions=("DIVIDE",)), Symptoms(condition="DIVIDE_BY_ZERO"), True),
        (_rule(conditions=("ZERO",)), Symptoms(condition="DIVIDE_BY_ZERO"), False),
        (_rule(sqlstates=("22",)), Symptoms(sqlstate="22012"), True),
        (_rule(sqlstates=("22",)), Symptoms(), False),
        (_rule(exceptions=("MemoryError",)), Symptoms(exceptions=("builtins.MemoryError",)), True),
        (_rule(exceptions=("a.b.MemoryError",)), Symptoms(exceptions=("a.b.MemoryError",)), True),
        (_rule(exceptions=("Error",)), Symptoms(exceptions=("MemoryError",)), False),
        (_rule(text="no SPACE"), Symptoms(text="there is no space left"), True),
        (_rule(text="no space"), Symptoms(), False),
        (_rule(exit_codes=(1,), text="space"), Symptoms(exit_code=1, text="time"), False),
        (_rule(exit_codes=(1,), text="space"), Symptoms(exit_code=1, text="space"), True),
    ],
)
def test_every_matcher_given_must_fit(rule: Rule, seen: Symptoms, expected: bool) -> None:
    """
    A rule fits if each matcher that it gives fits, and one without matchers fits everything.
    """
    assert fits(rule, seen) is expected


def test_the_first_fitting_rule_names_the_failure() -> None:
    """
    Order decides, and the failure carries the rule's name, code and own word on retrying.
    """
    rules = (_rule(name="a", exit_codes=(9,)), _rule(name="b", code="second", retryable=False), _rule(name="c"))
    failure = classify(rules, Symptoms(exit_code=1, text="x\nlast line"))

    assert (failure.rule, failure.code, failure.retryable) == ("b", "second", False)
    assert failure.message == "exit status 1: last line"


def test_what_no_rule_knows_is_unclassified() -> None:
    """
    Without a fitting rule the class is `unknown`, which is not retried by default.
    """
    failure = classify((), Symptoms(exit_code=7))

    assert (failure.failure_class, failure.code, failure.rule) == (FailureClass.UNKNOWN, "unclassified", None)
    assert not failure.retryable


def test_words_in_a_users_text_are_not_read_as_causes() -> None:
    """
    Text that merely mentions timeouts and memory does not classify anything without a rule that says so.
    """
    failure = classify((_rule(exceptions=("MemoryError",)),), Symptoms(exit_code=1, text="timeout shuffle oom"))

    assert failure.failure_class is FailureClass.UNKNOWN


@pytest.mark.parametrize(
    ("seen", "headline"),
    [
        (Symptoms(), "no message"),
        (Symptoms(word="LOST"), "LOST"),
        (Symptoms(exit_code=3), "exit status 3"),
        (Symptoms(exit_code=3, signal=9), "killed by signal 9"),
        (Symptoms(text="a\n  b  \n\n"), "b"),
        (Symptoms(signal=15, text="bye"), "killed by signal 15: bye"),
    ],
)
def test_the_headline_says_how_it_ended(seen: Symptoms, headline: str) -> None:
    """
    One line that a person would quote.
    """
    assert seen.headline == headline


def test_every_class_has_its_traits() -> None:
    """
    The table of traits is total, and every class has a meaning and a suggestion.
    """
    assert set(TRAITS) == set(FailureClass)
    assert all(traits.meaning and traits.suggestion for traits in TRAITS.values())


def test_a_message_is_bounded() -> None:
    """
    A failure keeps at most 500 characters of message.
    """
    assert len(Failure.of(OOM, "c", "x" * 10_000).message) == 500


def test_a_fingerprint_leaves_out_what_varies() -> None:
    """
    Numbers, addresses, ids and paths do not make two failures differ; class, code and words do.
    """

    def print_of(message: str, code: str = "c") -> tuple[str, str, str]:
        return fingerprint(Failure.of(OOM, code, message))

    assert print_of("Task 12 at 0xff in /a/b") == print_of("task 7 at 0x01 in /c/d/e")
    assert print_of("id 123e4567-e89b-12d3-a456-426614174000") == print_of("id 00000000-e89b-12d3-a456-426614174fff")
    assert print_of("heap") != print_of("metaspace")
    assert print_of("heap") != print_of("heap", "other")
