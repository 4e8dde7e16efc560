"""
When a failed job gets another attempt, after how long, and with what changed.

Pure: the jitter comes from a seed that the caller derives from the attempt's handle, so a restart computes the same
delay. Source of full jitter: "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import msgspec

from standfast.core.failure import TRAITS, Failure, FailureClass, fingerprint

SUBMIT_BUDGET = 5
"""Attempts that never ran and cost no run budget; after this many in a row the job fails all the same."""


class Mitigation(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """
    A changed spec for the next attempt: memory times `memory_factor`, at most `memory_max_mib`.
    """

    memory_factor: float = 2.0
    memory_max_mib: int | None = None


class RetryPolicy(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """
    How often a job is tried, and for what.

    max_attempts: 1..100 runs in all. backoff_base_s, backoff_cap_s: seconds of the exponential whose random share is
    waited. on: classes worth a retry, instead of the table's own answer. never: classes that never are. mitigate: by
    class, what to change. stop_on_same: end early when the same failure comes twice with nothing changed.
    unproven_gone: start the next attempt though the last one's death is not proven (two may then run at once).
    """

    max_attempts: int = 1
    backoff_base_s: float = 5.0
    backoff_cap_s: float = 600.0
    on: tuple[FailureClass, ...] | None = None
    never: tuple[FailureClass, ...] = ()
    mitigate: Mapping[FailureClass, Mitigation] = {}
    stop_on_same: bool = True
    unproven_gone: bool = False


class Retry(msgspec.Struct, frozen=True, gc=False):
    """
    Yes: wait `delay_s` seconds, then try with what `mitigation` changes (if anything).
    """

    delay_s: float
    mitigation: Mitigation | None
    because: str


class NoRetry(msgspec.Struct, frozen=True, gc=False):
    """
    No, and the reason in one phrase.
    """

    because: str


def full_jitter_s(base_s: float, cap_s: float, n: int, seed: str) -> float:
    """
    A delay in [0, min(cap, base * 2^n)] seconds, the same for the same seed.
    """
    ceiling = min(cap_s, base_s * (2.0 ** min(n, 60)))
    share = int.from_bytes(hashlib.blake2b(seed.encode(), digest_size=7).digest(), "big") / (1 << 56)
    return ceiling * share


def next_try(
    policy: RetryPolicy, failures: Sequence[Failure], *, seed: str, mitigated: bool, memory_mib: int | None
) -> Retry | NoRetry:
    """
    Whether the last of `failures` is followed by another attempt.

    Args:
        failures: Every failed attempt's failure, oldest first, at least one; cancelled and suspended ones left out.
        seed: Chooses the jitter; use the failed attempt's handle.
        mitigated: The last attempt already ran with something changed against the one before it.
        memory_mib: The last attempt's memory, if one was asked for.
    """
    last = failures[-1]
    runs = sum(not f.free for f in failures)
    free_in_a_row = next((i for i, f in enumerate(reversed(failures)) if not f.free), len(failures))
    if last.free and last.retryable:
        if free_in_a_row > SUBMIT_BUDGET:
            return NoRetry(f"it never ran in {free_in_a_row} tries")
        delay_s = full_jitter_s(policy.backoff_base_s, policy.backoff_cap_s, free_in_a_row - 1, seed)
        return Retry(delay_s, None, "nothing of it ran, so this try costs nothing")
    if runs >= policy.max_attempts:
        return NoRetry(
            f"all {policy.max_attempts} attempts are used" if policy.max_attempts > 1 else "one attempt was asked for"
        )
    if last.failure_class in policy.never:
        return NoRetry(f"the policy never retries {last.failure_class}")
    if policy.on is not None and last.failure_class not in policy.on:
        return NoRetry(f"the policy does not retry {last.failure_class}")
    if policy.on is None and not last.retryable:
        return NoRetry(f"{last.failure_class} is not worth another attempt")
    mitigation = _usable(policy.mitigate.get(last.failure_class), memory_mib)
    repeats = TRAITS[last.failure_class].repeat_proves_fault and len(failures) > 1
    unchanged = policy.stop_on_same and repeats and not mitigated and mitigation is None
    if unchanged and fingerprint(failures[-2]) == fingerprint(last):
        return NoRetry("the same failure came twice with nothing changed")
    delay_s = full_jitter_s(policy.backoff_base_s, policy.backoff_cap_s, runs - 1, seed)
    return Retry(delay_s, mitigation, f"{last.failure_class} is worth another attempt")


def grown_mib(mitigation: Mitigation, memory_mib: int) -> int:
    """
    The memory after the mitigation, in MiB, never less than before.
    """
    grown = int(memory_mib * mitigation.memory_factor)
    return max(memory_mib, min(grown, mitigation.memory_max_mib or grown))


def _usable(mitigation: Mitigation | None, memory_mib: int | None) -> Mitigation | None:
    """
    The mitigation, if it would change anything: memory is known and not yet at its maximum.
    """
    if mitigation is None or memory_mib is None or grown_mib(mitigation, memory_mib) == memory_mib:
        return None
    return mitigation
