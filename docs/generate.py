"""
Write the pages of docs/reference that are made from the code; `make docs` runs it.

Belongs here: Markdown of tables that the code holds anyway: settings, phases, events, metrics, failure classes. Not
here: pages that their own module writes (`standfast.api.reference`, `standfast.cli.reference`), which are called.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec

from standfast.api import reference as api
from standfast.api.app import build_app
from standfast.cli import reference as cli
from standfast.cli.manual import DOUBTS, PHASES
from standfast.core.failure import TRAITS
from standfast.core.job import events
from standfast.core.job.diagram import mermaid
from standfast.core.job.explain import REASONS
from standfast.core.job.state import Doubt, Phase
from standfast.core.job.table import TRANSITIONS
from standfast.core.retry import SUBMIT_BUDGET
from standfast.runtime.intake import Intake
from standfast.runtime.telemetry import Metrics
from standfast.runtime.world import World
from standfast.settings import PREFIX, Settings
from standfast.stores.memory.blobs import MemoryBlobs
from standfast.stores.memory.store import MemoryStore
from standfast.system.clock import SystemClock
from standfast.system.ids import SystemIds
from standfast.system.wakeups import LoopWakeups

ROOT = Path(__file__).parents[1]
WRITTEN = "<!-- Written by `make docs`; a test holds it equal to the code. -->"

EVENTS: tuple[type[msgspec.Struct], ...] = get_args(events.Event)


def settings_page() -> str:
    """
    Every setting with its name in the environment, type, default and meaning.
    """
    lines = [
        *_head("Settings"),
        *_paragraph(
            "Of a control plane. Each comes from the strongest place that has it: a flag of `standfast serve`, the"
            " environment, `[server]` of the nearest `standfast.toml` (in this folder or one above it), the default. An"
            " unknown name or a value that does not fit stops the start, with its source in the message."
        ),
        "",
        "| setting | environment | type | default | meaning |",
        "|---|---|---|---|---|",
    ]
    described = msgspec.json.schema(Settings)["$defs"]["Settings"]["properties"]
    for field in msgspec.structs.fields(Settings):
        about = described[field.name]
        kind = " or ".join(one["type"] for one in about.get("anyOf", [about]))
        default = field.default
        if default is msgspec.NODEFAULT and callable(field.default_factory):
            default = field.default_factory()
        lines.append(
            f"| `{field.name}` | `{PREFIX}{field.name.upper()}` | {kind}{_bounds(about)} | `{_plain(default)}` |"
            f" {about['description']} |"
        )
    lines += ["", "Settings of the command line's own side are in [Command line](cli.md#settings)."]
    return _page(lines)


def phases_page() -> str:
    """
    Every phase with its reasons and arrows, every doubt, and the diagram.
    """
    lines = [*_head("Phases and reasons"), "How to read them: [Life of a job](../concepts/lifecycle.md).", ""]
    lines += ["| phase | final | holds a slot | meaning |", "|---|---|---|---|"]
    lines += [f"| `{p}` | {_yes(p.final)} | {_yes(p.holds_slot)} | {PHASES[p]} |" for p in Phase]
    lines += ["", "## Reasons", "", "`why.reason` of a job is one of these, by phase. The list is closed.", ""]
    lines += ["| phase | reasons |", "|---|---|"]
    lines += [f"| `{phase}` | {', '.join(f'`{reason}`' for reason in REASONS[phase])} |" for phase in Phase]
    lines += ["", "The reasons of `uncertain`:", "", "| reason | meaning |", "|---|---|"]
    lines += [f"| `{doubt.value}` | {DOUBTS[doubt]} |" for doubt in Doubt]
    lines += [
        "",
        "## Arrows",
        "",
        "An arrow that is not here cannot happen.",
        "",
        "| from | event | to |",
        "|---|---|---|",
    ]
    lines += [
        f"| {f'`{before}`' if before else '-'} | [`{event.__name__}`](events.md#{event.__name__.lower()}) | `{after}` |"
        for (before, event), after in TRANSITIONS.items()
    ]
    return _page([*lines, "", "```mermaid", mermaid().rstrip(), "```"])


def events_page() -> str:
    """
    Every event with its fields.
    """
    lines = [
        *_head("Events"),
        *_paragraph(
            "Facts in the past tense; each moves its job along one arrow and its revision by one. In the API an event"
            " has `seq` (global, growing), `uid`, `namespace`, `revision`, `at`, `actor`, `type` (the names below) and"
            " `data` (the fields below; those with nothing to say are left out). A name is never used for something"
            " else. The job's record keeps the only copy of its spec and of all evidence; events do not repeat them."
        ),
        "",
    ]
    for kind in EVENTS:
        lines += [f"## {kind.__name__}", "", _prose(kind), ""]
        arrows = [f"{b or 'nothing'} → {a}" for (b, event), a in TRANSITIONS.items() if event is kind]
        lines += [f"Arrows: {', '.join(arrows)}.", ""]
        hints = get_type_hints(kind)
        if kind.__struct_fields__:
            lines += ["| field | type |", "|---|---|"]
            lines += [f"| `{name}` | {_type(hints[name])} |" for name in kind.__struct_fields__]
            lines.append("")
    return _page(lines)


def metrics_page() -> str:
    """
    Every metric with its type and labels.
    """
    lines = [
        *_head("Metrics"),
        *_paragraph(
            "`GET /metrics`, in the text format of Prometheus; it needs a viewer's token if there are tokens. Label"
            " values are closed sets or names from settings and specs, never a uid or a message. Counters start at"
            " zero with the process; `standfast_jobs` is read from the store. Histograms have `_bucket`, `_sum` and"
            " `_count`."
        ),
        "",
        "| metric | type | labels | meaning |",
        "|---|---|---|---|",
    ]
    for collector in _collectors():
        (family,) = collector.describe()
        labels = ", ".join(f"`{name}`" for name in collector._labelnames) or "-"
        total = "_total" if family.type == "counter" else ""
        lines.append(f"| `{family.name}{total}` | {family.type} | {labels} | {family.documentation} |")
    return _page(lines)


def failure_classes_page() -> str:
    """
    Every failure class with what it means to a policy that says nothing.
    """
    lines = [
        *_head("Failure classes"),
        *_paragraph(
            "Closed, so that policies and dashboards can be total over it. How a class is found, and how a spec says"
            " otherwise: [Failure](../concepts/failure.md)."
        ),
        "",
        "| class | retried | the same twice ends it | meaning | what to do |",
        "|---|---|---|---|---|",
    ]
    for name, traits in TRAITS.items():
        lines.append(
            f"| `{name}` | {_yes(traits.retryable)} | {_yes(traits.repeat_proves_fault)} | {traits.meaning} |"
            f" {traits.suggestion} |"
        )
    lines += [
        "",
        *_paragraph(
            "*The same twice*: two failures in a row with the same fingerprint, and nothing changed in between. An"
            f" attempt that is proven never to have run costs none of `max_attempts`; after {SUBMIT_BUDGET} of them"
            " in a row the job fails all the same."
        ),
    ]
    return _page(lines)


PAGES: Mapping[str, Callable[[], str]] = {
    **api.PAGES,
    "docs/reference/cli.md": cli.markdown,
    "docs/reference/settings.md": settings_page,
    "docs/reference/phases.md": phases_page,
    "docs/reference/events.md": events_page,
    "docs/reference/metrics.md": metrics_page,
    "docs/reference/failure-classes.md": failure_classes_page,
}
"""By path in the repository."""


def main() -> None:
    """
    Write every page that is not as the code says, and tell which those were.
    """
    for name, page in PAGES.items():
        path, text = ROOT / name, page()
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            sys.stdout.write(f"wrote {name}\n")


def _collectors() -> list[Any]:
    """
    Those of a whole application, in the order of their making.
    """
    clock, metrics, store = SystemClock(), Metrics(), MemoryStore()
    world = World(store, store, {}, clock, SystemIds(), LoopWakeups(clock), MemoryBlobs())

    async def nobody(job: object) -> None:
        return None

    build_app(world, Intake(world), tokens=None, ready=lambda: None, waiting=nobody, metrics=metrics)
    # The library has no public way from a registry to its collectors' labels.
    return list(metrics.registry._collector_to_names)


def _head(title: str) -> Iterator[str]:
    yield from (f"# {title}", "", WRITTEN, "")


def _paragraph(text: str) -> list[str]:
    return textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False)


def _page(lines: list[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"


def _prose(kind: type) -> str:
    return " ".join((kind.__doc__ or "").split())


def _bounds(about: Mapping[str, Any]) -> str:
    words = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to"}
    return "".join(f", {word} {about[key]:g}" for key, word in words.items() if key in about)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _type(hint: Any) -> str:
    text = hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint)
    for module in (r"[\w.]+\.(?=[A-Z])", r"collections\.abc\.", r"datetime\.(?=datetime)"):
        text = re.sub(module, "", text)
    return f"`{text}`".replace(" | ", "` or `").replace("`None`", "nothing")


def _yes(value: bool) -> str:
    return "yes" if value else "no"


if __name__ == "__main__":
    main()
