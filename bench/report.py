"""
Figures to text: the tables on the terminal and the page `docs/internals/benchmarks.md`.

Belongs here: medians, ranges, ratios, goals met and missed. Every row that was run is shown, those that lose included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from measure import Contender, Round

TITLES = {
    "a": "a. Accepting work: the answer comes once it is on disk",
    "b": "b. From acceptance to the recorded end, nothing to do in between",
    "c": "c. One job on an idle system, and one after another",
    "d": "d. Kill -9 with everything in flight, and start again",
    "f": "f. What a finished job leaves behind",
    "g": "g. Lists and counts over a large store",
}

NOTES = {
    "a": "An accepted job is checked, has an identity and a history, and its token was looked at. The engine's only "
    "slot is taken, so that nothing runs meanwhile, except in the row `and run`. huey keeps no identity and no "
    "history.",
    "b": "Four transitions, each on disk before the next effect; history is kept. DBOS recovers arbitrary code step by "
    "step, which we do not. huey keeps neither history nor a job whose worker was killed. `/bin/true` is real: one "
    "keeper and one process each, with a ticket and an output file; the floor is that engine without a control plane.",
    "c": "Submit to start: from sending the request to the engine being told. DBOS runs the step in its own process; "
    "ours is a call to an engine. A chain of jobs is three commits a link: end, next job, launch; a DBOS step is one.",
    "d": "From the exec of the new process. A tenth of the jobs end while nobody is there. The engine's own ledger "
    "counts what was started. DBOS: until every workflow runs again from its last step, which it must do, as it "
    "is the engine.",
    "f": "One attempt, four events and two labels each, indexes included. Growth: from a tenth of the jobs to all.",
    "g": "200 requests each, one client, HTTP with a token; pages of 50 whole jobs.",
}

Results = Mapping[Contender, Sequence[Round]]


def figures_of(results: Results, workload: str) -> list[str]:
    """
    The figure names of a workload in order of appearance.
    """
    names: dict[str, None] = {}
    for contender, rounds in results.items():
        if contender.workload == workload:
            for one in rounds:
                names.update(dict.fromkeys(one.figures))
    return list(names)


def shown(value: float) -> str:
    """
    Three telling digits.
    """
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 10 else f"{value:.1f}"


def cell(contender: Contender, rounds: Sequence[Round], name: str) -> str:
    """
    Median [min–max], and whether the goal was met.
    """
    values = [one.figures[name] for one in rounds if one.sound and name in one.figures]
    if not values:
        return ""
    text = shown(median(values))
    if len(values) > 1:
        text += f" [{shown(min(values))}–{shown(max(values))}]"
    goal = contender.goals.get(name)
    if goal is None:
        return text
    return f"{text} {'✓' if met(median(values), goal) else '✗'} {goal}"


def met(value: float, goal: str) -> bool:
    """
    Whether the value is as the goal `>= 5000`, `< 2` or `<= 0` demands.
    """
    sign, bound = goal.split()
    return {">=": value >= float(bound), "<": value < float(bound), "<=": value <= float(bound)}[sign]


def table(results: Results, workload: str) -> list[str]:
    """
    One workload as a Markdown table; a workload of one row stands upright.
    """
    mine = {contender: rounds for contender, rounds in results.items() if contender.workload == workload}
    names = figures_of(results, workload)
    if len(mine) == 1:
        ((only, rounds),) = mine.items()
        lines = [f"| {only.name} | |", "|---|---|"]
        return lines + [f"| {name} | {cell(only, rounds, name)} |" for name in names]
    lines = ["| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    lines += [f"| {c.name} | " + " | ".join(cell(c, r, name) for name in names) + " |" for c, r in mine.items()]
    return lines


def ratios(results: Results) -> list[str]:
    """
    Each comparison that was asked for, from medians of this one run.
    """
    by_name = {(contender.workload, contender.name): rounds for contender, rounds in results.items()}
    lines: list[str] = []
    for contender, rounds in results.items():
        for name, other, goal in contender.ratios:
            ours, theirs = (_median(some, name) for some in (rounds, by_name.get((contender.workload, other), ())))
            if ours and theirs:
                ratio = ours / theirs
                mark = "✓" if met(ratio, goal) else "✗"
                line = f"| {contender.workload} | {contender.name} | {other} | {name} | {ratio:.3g} × {mark} {goal} |"
                lines.append(line)
    return ["| | ours | compared with | figure | ratio |", "|---|---|---|---|---|", *lines] if lines else []


def misses(results: Results) -> list[str]:
    """
    Every goal that this run missed, and every round that does not count.
    """
    lines: list[str] = []
    for contender, rounds in results.items():
        for name, goal in contender.goals.items():
            value = _median(rounds, name)
            if value is not None and not met(value, goal):
                lines.append(f"- {contender.workload}, {contender.name}: {name} is {shown(value)}, wanted {goal}")
        lines += [f"- {contender.workload}, {contender.name}: {one.audit}" for one in rounds if not one.sound]
    return lines


def page(results: Results, machine: Sequence[str], command: str) -> str:
    """
    The whole page.
    """
    lines = [
        "# Benchmarks",
        "",
        f"Written by `{command}`; do not edit. One run on one machine, every row in a process of its own, rows in",
        "shuffled order in every round; median [min–max] of the rounds. Compare the ratios, not the figures: they are",
        "from the same run and the same disk. All stores are SQLite in WAL mode with `synchronous=FULL`. The load",
        "maker is another process on the same cores. A row counts only if its audit held: accepted = finished, none",
        "lost, none doubled.",
        "",
        *(f"- {line}" for line in machine),
        "",
    ]
    for workload in dict.fromkeys(contender.workload for contender in results):
        lines += [f"## {TITLES[workload]}", "", NOTES[workload], "", *table(results, workload), ""]
        audits = {c.name: r[-1].audit for c, r in results.items() if c.workload == workload and r}
        lines += ["Audits: " + "; ".join(f"{name}: {audit}" for name, audit in audits.items()) + ".", ""]
    compared = ratios(results)
    if compared:
        lines += ["## Ratios", "", *compared, ""]
    missed = misses(results)
    lines += ["## Goals missed in this run", "", *(missed or ["None."]), ""]
    return "\n".join(lines)


def _median(rounds: Sequence[Round], name: str) -> float | None:
    values = [one.figures[name] for one in rounds if one.sound and name in one.figures]
    return median(values) if values else None
