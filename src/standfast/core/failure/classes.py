"""
The failure classes, and what each one means: the table a retry policy starts from.

Belongs here: facts that hold for a class whatever the engine. Not here: how a class is recognised (`rules.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec


class FailureClass(StrEnum):
    """
    Why an attempt failed, in one word; closed, so that policies and dashboards can be total over it.
    """

    USER_ERROR = "user_error"
    DEPENDENCY = "dependency"
    OUT_OF_MEMORY = "out_of_memory"
    EVICTED = "evicted"
    NODE_LOST = "node_lost"
    SHUFFLE_LOST = "shuffle_lost"
    THROTTLED = "throttled"
    TIMEOUT = "timeout"
    SUBMISSION_REFUSED = "submission_refused"
    HEAD_LOST = "head_lost"
    ENGINE_UNREACHABLE = "engine_unreachable"
    CANCELLED_OUTSIDE = "cancelled_outside"
    UNKNOWN = "unknown"


class Traits(msgspec.Struct, frozen=True, gc=False):
    """
    What a class means when the policy says nothing.

    retryable: worth another attempt. repeat_proves_fault: the same failure twice in a row, with nothing changed in
    between, will come a third time, so stop early. suggestion: what a person might change.
    """

    retryable: bool
    repeat_proves_fault: bool
    meaning: str
    suggestion: str


TRAITS: Mapping[FailureClass, Traits] = {
    FailureClass.USER_ERROR: Traits(
        False,
        True,
        "The program itself failed.",
        "Read the exception in the attempt's evidence and mend the program.",
    ),
    FailureClass.DEPENDENCY: Traits(
        True,
        False,
        "Something the program needs was not ready.",
        "See whether the service or input it names is there.",
    ),
    FailureClass.OUT_OF_MEMORY: Traits(
        True,
        True,
        "The program or one of its workers was refused memory.",
        "Give it more memory or smaller pieces.",
    ),
    FailureClass.EVICTED: Traits(
        True, False, "The platform took the resources back.", "Use a pool that is not preempted."
    ),
    FailureClass.NODE_LOST: Traits(
        True,
        False,
        "The machine went away under the attempt.",
        "Nothing, if it was one machine; look at the host if it repeats.",
    ),
    FailureClass.SHUFFLE_LOST: Traits(
        True,
        False,
        "Intermediate data was lost with a worker.",
        "Use a shuffle service, or keep shuffles off spot machines.",
    ),
    FailureClass.THROTTLED: Traits(
        True,
        False,
        "A service asked us to slow down.",
        "Lower the parallelism; the next attempt waits longer.",
    ),
    FailureClass.TIMEOUT: Traits(
        False, True, "The attempt ran past its deadline.", "Raise the deadline, or find what it waited for."
    ),
    FailureClass.SUBMISSION_REFUSED: Traits(
        False,
        True,
        "The engine refused the attempt before it ran.",
        "The engine's own reason is in the evidence.",
    ),
    FailureClass.HEAD_LOST: Traits(
        True, False, "The attempt's own cluster lost its head.", "Look at the head's memory and its node."
    ),
    FailureClass.ENGINE_UNREACHABLE: Traits(
        True, False, "The attempt could not reach its engine.", "See whether the engine's address answers."
    ),
    FailureClass.CANCELLED_OUTSIDE: Traits(
        False,
        False,
        "Somebody other than Standfast stopped the attempt.",
        "Find out who; the sender is in the evidence if known.",
    ),
    FailureClass.UNKNOWN: Traits(
        False,
        True,
        "The end left nothing that names its cause.",
        "Read the attempt's output; add a failure rule for its text.",
    ),
}
