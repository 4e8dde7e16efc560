"""
Manual pages of single words: phases, with the arrows in and out of them, and error codes.

Belongs here: texts from the core's own tables, so that they cannot disagree with it. Not here: one job's case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from standfast.cli.exits import Exit, Quit
from standfast.core.job.explain import REASONS
from standfast.core.job.state import Doubt, Phase
from standfast.core.job.table import TRANSITIONS

PHASES: Mapping[Phase, str] = {
    Phase.QUEUED: "Accepted and durable. It waits for its turn or its start time; nothing of it exists outside yet.",
    Phase.LAUNCHING: "Past the write boundary: its handle is stored and the launch was sent, so something may exist"
    " outside. Only a look tells; nothing is sent again before absence is proven.",
    Phase.RUNNING: "The engine shows the attempt alive.",
    Phase.STOPPING: "Asked to end, by a cancel, a suspend, a deadline or a loss. It is left only when the engine"
    " confirms that nothing of the attempt is alive.",
    Phase.BACKING_OFF: "An attempt failed and is confirmed gone; the next one follows after a pause with jitter.",
    Phase.SUSPENDED: "Nothing of it runs, and nothing starts until someone resumes it.",
    Phase.UNCERTAIN: "What the engine says settles nothing. We do not act until evidence or a person does; time in this"
    " phase never counts against the job.",
    Phase.SUCCEEDED: "Final: the work is done.",
    Phase.FAILED: "Final: the work failed, and no further attempt follows.",
    Phase.CANCELLED: "Final: ended at someone's request, and nothing of it is alive.",
}

DOUBTS: Mapping[Doubt, str] = {
    Doubt.SUBMIT_UNANSWERED: "the launch was sent and no answer came",
    Doubt.ABSENCE_UNPROVEN: "it is not listed, but that proves nothing yet",
    Doubt.ENGINE_FORGOT: "the engine lives a new life, or dropped what it had known",
    Doubt.STOP_UNCONFIRMED: "asked to stop, its death not confirmed in time",
    Doubt.GONE_UNPROVEN: "it ended, but something of it may be alive",
    Doubt.OUTCOME_UNKNOWN: "it ended, and nothing tells how",
}
"""What each reason of `uncertain` means."""


def in_words(reason: str) -> str:
    """
    A reason as people say it: `SubmitUnanswered` becomes `Submit unanswered`.
    """
    first, *others = re.findall("[A-Z]?[a-z0-9]+|[A-Z]+", reason) or [reason]
    return " ".join((first, *(word.lower() for word in others)))


def meaning(reason: str) -> str | None:
    """
    What a reason of `uncertain` means; None for every other one, which says it itself.
    """
    return next((text for doubt, text in DOUBTS.items() if doubt.value == reason), None)


def phase_page(word: str) -> Iterator[str]:
    """
    What a phase means, its reasons, and how one gets in and out.

    Raises:
        Quit: There is no such phase.
    """
    try:
        phase = Phase(word.replace("-", "_"))
    except ValueError:
        raise Quit(Exit.NOT_FOUND, f"there is no phase {word!r}; phases are: {', '.join(Phase)}") from None
    yield f"{phase}{' (final)' if phase.final else ''}"
    yield f"  {PHASES[phase]}"
    yield "Reasons"
    yield f"  {', '.join(REASONS[phase])}"
    if phase is Phase.UNCERTAIN:
        yield "What each means"
        yield from (f"  {doubt.value:<18}{text}" for doubt, text in DOUBTS.items())
    yield "Entered by"
    yield from _arrows(
        (f"{before or 'nothing'}", event, after)
        for (before, event), after in TRANSITIONS.items()
        if after is phase and before is not phase
    )
    yield "Left by"
    yield from _arrows(
        (f"{after}", event, after)
        for (before, event), after in TRANSITIONS.items()
        if before is phase and after is not phase
    )


def _arrows(found: Any) -> Iterator[str]:
    lines = [f"  {event.__name__:<16} {other}" for other, event, _ in found]
    yield from lines or ["  nothing"]


def code_page(catalogue: Mapping[str, Any], word: str) -> Iterator[str]:
    """
    What an error code means and what to do about it, as the control plane tells.

    Raises:
        Quit: There is no such code.
    """
    entries = catalogue.get("items", catalogue.get("problems", []))
    for entry in entries:
        if entry.get("code") == word:
            yield f"{word} ({entry.get('status', '-')})"
            yield from (
                f"  {name}: {value}" for name, value in entry.items() if name not in ("code", "status") and value
            )
            return
    known = ", ".join(str(entry.get("code")) for entry in entries)
    raise Quit(Exit.NOT_FOUND, f"there is no code {word!r}; codes are: {known}")
