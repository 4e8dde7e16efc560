"""
One failed attempt's verdict: class, code, message, and whether another try is worth it.
"""

from __future__ import annotations

import re

import msgspec

from standfast.core.failure.classes import TRAITS, FailureClass

_VARYING = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27,}|0x[0-9a-f]+|\d+|/\S+", re.IGNORECASE)


class Failure(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """
    Why an attempt failed.

    failure_class: ours. code: finer, dotted, stable (`oom.driver_heap`). message: one line, at most 500 characters.
    retryable: a rule's own word, else the class's. free: costs no run budget, because it is proven that nothing of
    the program ran. rule: the name of the rule that decided.
    """

    failure_class: FailureClass
    code: str
    message: str
    retryable: bool
    free: bool = False
    rule: str | None = None
    suggestion: str | None = None

    @classmethod
    def of(
        cls,
        failure_class: FailureClass,
        code: str,
        message: str,
        *,
        retryable: bool | None = None,
        free: bool = False,
        rule: str | None = None,
        suggestion: str | None = None,
    ) -> Failure:
        """
        A failure with its class's traits for whatever is not given.
        """
        traits = TRAITS[failure_class]
        return cls(
            failure_class=failure_class,
            code=code,
            message=message[:500],
            retryable=traits.retryable if retryable is None else retryable,
            free=free,
            rule=rule,
            suggestion=suggestion or traits.suggestion,
        )


def fingerprint(failure: Failure) -> tuple[str, str, str]:
    """
    What stays equal when the same thing goes wrong again: class, code, and the message without numbers and paths.
    """
    return (failure.failure_class, failure.code, _VARYING.sub("#", failure.message).lower())
