"""
What a job says to the fake engine: how long it runs, how it ends, and what goes wrong on the way.

Belongs here: the shape of `spec.program` for engine `fake`, its check, and the findings that follow from it. Not here:
when things happen (`engine`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from standfast.core.errors import FieldError, field_error
from standfast.core.failure import Failure, FailureClass, Symptoms
from standfast.core.job.evidence import Ending, Finding, Rank, Verdict
from standfast.core.job.spec import SECONDS_MAX, Spec
from standfast.ports.engine import Capability

AT = "/spec/program"


class Accept(StrEnum):
    """
    What becomes of a launch. LOSE_REQUEST: it never arrives. LOSE_REPLY: it takes effect, the answer is lost. DELAY:
    no answer, and it takes effect `delay_s` later.
    """

    YES = "yes"
    REFUSE = "refuse"
    LOSE_REQUEST = "lose_request"
    LOSE_REPLY = "lose_reply"
    DELAY = "delay"


class Source(StrEnum):
    """
    Who may report an end, strongest first.
    """

    RECEIPT = "receipt"
    EXIT_STATUS = "exit_status"
    END_REPORT = "end_report"
    STATUS_WORD = "status_word"
    TEXT = "text"


_RANKS = {
    Source.RECEIPT: Rank.RECEIPT,
    Source.EXIT_STATUS: Rank.EXIT_STATUS,
    Source.END_REPORT: Rank.END_REPORT,
    Source.STATUS_WORD: Rank.STATUS_WORD,
    Source.TEXT: Rank.TEXT,
}
_NEEDS = {Source.RECEIPT: Capability.RECEIPTS, Source.EXIT_STATUS: Capability.EXIT_STATUS}


class Script(msgspec.Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """
    One attempt's life; without anything said it is accepted and has succeeded at once.

    run_s: seconds from its start to its end. starting_s: the first of them in which it is only starting. ending: how it
    ends. fails: the first so many attempts of the job fail instead. exit_code, signal, failure_class, message: of a
    failed end. reports: who says what about the end; None: exit status and status word, as it was. gone: how far its
    death can be proven. lingers_s: seconds after its end for which something of it is still alive.

    accept: what becomes of its launches, for the first `accept_for` sends of the job (None: for all). delay_s: of a
    delayed one. answer_s: seconds until a launch is answered. vanishes_s: so long after its start it is dead and the
    engine has no trace of it.

    stop_s: seconds from the first halt to its end, at most the grace. unkillable_s: seconds for which not even force
    ends it. stopped: how it ends when stopped. output: what it writes to stdout.
    """

    run_s: float = 0.0
    starting_s: float = 0.0
    ending: Ending = Ending.SUCCEEDED
    fails: int = 0
    exit_code: int | None = None
    signal: int | None = None
    failure_class: FailureClass | None = None
    message: str | None = None
    reports: Mapping[Source, Ending] | None = None
    gone: Verdict = Verdict.PROVEN
    lingers_s: float = 0.0
    accept: Accept = Accept.YES
    accept_for: int | None = None
    delay_s: float = 1.0
    answer_s: float = 0.0
    vanishes_s: float | None = None
    stop_s: float = 0.0
    unkillable_s: float = 0.0
    stopped: Ending = Ending.TERMINATED
    output: str = ""


PLAIN = Script()
_SECONDS = ("run_s", "starting_s", "lingers_s", "delay_s", "answer_s", "vanishes_s", "stop_s", "unkillable_s")


def parse(spec: Spec) -> Script:
    """
    The script in the spec.

    Raises:
        msgspec.ValidationError: It is not one.
    """
    return msgspec.convert(spec.program, Script) if spec.program else PLAIN


def check(spec: Spec) -> list[FieldError]:
    """
    Everything wrong with the script, each with its pointer.
    """
    try:
        script = parse(spec)
    except msgspec.ValidationError as error:
        return [field_error(error, at=AT)]
    wrong = [
        FieldError(f"{AT}/{name}", "out_of_range", "must be 0 seconds to 100 years")
        for name in _SECONDS
        if not 0 <= (getattr(script, name) or 0.0) <= SECONDS_MAX
    ]
    if script.fails < 0:
        wrong.append(FieldError(f"{AT}/fails", "out_of_range", "must be 0 or more"))
    if script.exit_code is not None and not 0 <= script.exit_code <= 255:
        wrong.append(FieldError(f"{AT}/exit_code", "out_of_range", "must be 0..255"))
    return wrong


def ending_of(script: Script, attempt: int) -> Ending:
    """
    How that attempt ends by itself.
    """
    return Ending.FAILED if attempt <= script.fails else script.ending


def findings_of(
    script: Script, ending: Ending, capabilities: frozenset[Capability], *, name: str, cut_short: bool
) -> tuple[Finding, ...]:
    """
    What the sources say about an attempt that ended so; the script's reports are about an end of its own.
    """
    reports = script.reports
    if reports is None or cut_short:
        reports = {Source.EXIT_STATUS: ending, Source.STATUS_WORD: ending}
    return tuple(
        _finding(script, source, says, name)
        for source, says in reports.items()
        if _NEEDS.get(source) is None or _NEEDS[source] in capabilities
    )


def _finding(script: Script, source: Source, says: Ending, name: str) -> Finding:
    if says in (Ending.SUCCEEDED, Ending.UNKNOWN):
        exit_code = 0 if says is Ending.SUCCEEDED and source is Source.EXIT_STATUS else None
        symptoms = Symptoms(exit_code=exit_code, word=says.value.upper())
        return Finding(rank=_RANKS[source], ending=says, source=f"{name}.{source}", symptoms=symptoms)
    exit_code, signal = script.exit_code, script.signal
    if says is Ending.TERMINATED and exit_code is None:
        signal = signal or 15
    if exit_code is None and signal is None and says is Ending.FAILED:
        exit_code = 1
    symptoms = Symptoms(exit_code=exit_code, signal=signal, word=says.value.upper(), text=script.message)
    failure = None
    if says is Ending.FAILED or script.failure_class is not None:
        failure_class = script.failure_class or FailureClass.USER_ERROR
        failure = Failure.of(failure_class, f"fake.{failure_class}", symptoms.headline, rule="fake/script")
    return Finding(rank=_RANKS[source], ending=says, source=f"{name}.{source}", failure=failure, symptoms=symptoms)
