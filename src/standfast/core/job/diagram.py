"""
The picture of a job's life, drawn from the table so that it cannot be wrong.
"""

from __future__ import annotations

from collections import defaultdict

from standfast.core.job.state import Phase
from standfast.core.job.table import TRANSITIONS


def mermaid() -> str:
    """
    The table as a mermaid state diagram; arrows between the same two phases share one line, in the table's order.
    """
    arrows: dict[tuple[Phase | None, Phase], list[str]] = defaultdict(list)
    for (source, event), target in TRANSITIONS.items():
        arrows[source, target].append(event.__name__)
    lines = ["stateDiagram-v2"]
    for (source, target), names in arrows.items():
        lines.append(f"    {source or '[*]'} --> {target}: {', '.join(names)}")
    lines += [f"    {phase} --> [*]" for phase in Phase if phase.final]
    return "\n".join(lines) + "\n"
