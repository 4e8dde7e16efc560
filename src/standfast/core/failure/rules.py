"""
Failure rules as data: the first rule whose every matcher fits gives the class.

Belongs here: the rule's shape and the matcher. Rules themselves live with each engine, and users prepend their own.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from standfast.core.failure.classes import FailureClass
from standfast.core.failure.failure import Failure
from standfast.core.failure.patterns import found
from standfast.core.failure.symptoms import Symptoms


class Rule(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """
    One row of a failure table.

    Every matcher that is given must fit; within one matcher any entry is enough. exceptions match the last dotted
    part or the whole name; conditions and sqlstates match as prefixes; words exactly; text is a regular expression in
    RE2's syntax, searched without regard to case. retryable and free override the class's traits.
    """

    name: str
    failure_class: FailureClass
    code: str
    exit_codes: tuple[int, ...] = ()
    signals: tuple[int, ...] = ()
    exceptions: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    sqlstates: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    text: str | None = None
    retryable: bool | None = None
    free: bool = False
    suggestion: str | None = None


def fits(rule: Rule, seen: Symptoms) -> bool:
    """
    Whether every matcher that the rule gives fits the symptoms; a rule without matchers fits everything.
    """
    if rule.exit_codes and seen.exit_code not in rule.exit_codes:
        return False
    if rule.signals and seen.signal not in rule.signals:
        return False
    if rule.words and seen.word not in rule.words:
        return False
    if rule.conditions and not (seen.condition or "").startswith(rule.conditions):
        return False
    if rule.sqlstates and not (seen.sqlstate or "").startswith(rule.sqlstates):
        return False
    if rule.exceptions:
        names = {name for full in seen.exceptions for name in (full, full.rpartition(".")[2])}
        if names.isdisjoint(rule.exceptions):
            return False
    return rule.text is None or found(rule.text, seen.text or "")


def classify(rules: Iterable[Rule], seen: Symptoms) -> Failure:
    """
    The failure that the first fitting rule names; without one, class `unknown` and code `unclassified`.
    """
    for rule in rules:
        if fits(rule, seen):
            return Failure.of(
                rule.failure_class,
                rule.code,
                seen.headline,
                retryable=rule.retryable,
                free=rule.free,
                rule=rule.name,
                suggestion=rule.suggestion,
            )
    return Failure.of(FailureClass.UNKNOWN, "unclassified", seen.headline)
