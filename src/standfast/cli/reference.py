"""
The reference of the command line, written from the application itself, so that it cannot be out of date.

Belongs here: Markdown from verbs, flags and exit codes. `python -m standfast.cli.reference` prints it.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from typing import Any

from cyclopts import App

from standfast.cli.contexts import FIELDS, PREFIX
from standfast.cli.exits import MEANINGS
from standfast.cli.main import build
from standfast.cli.verbs import TOPICS, VERBS, Verb

HEAD = """\
# Command line

<!-- Written by `python -m standfast.cli.reference`; a test holds it equal to the application. -->
"""


def markdown() -> str:
    """
    The whole page.
    """
    app = build()
    lines = [HEAD, *TOPICS.splitlines(), ""]
    group = None
    for verb in VERBS:
        if verb.group is not group:
            group = verb.group
            lines += [f"## {group.name}", ""]
        lines += _verb(app[verb.name], verb)
    lines += ["## Flags of every verb", "", *_everywhere(app), ""]
    lines += ["## Settings", "", *_settings(), ""]
    lines += ["## Exit codes", "", "| code | meaning |", "|---|---|"]
    lines += [f"| {int(code)} | {meaning} |" for code, meaning in MEANINGS.items()]
    return "\n".join(lines) + "\n"


def _verb(app: App, verb: Verb) -> Iterator[str]:
    names = [name for name in app if not name.startswith("-")]
    if names and app.default_command is None:
        yield from (f"### {verb.name}", "", _prose(str(app.help)), "")
        for name in names:
            yield from _command(f"{verb.name} {name}", app[name], ())
    else:
        yield from _command(verb.name, app, verb.examples)


def _command(name: str, app: App, examples: tuple[str, ...]) -> Iterator[str]:
    arguments = [a for a in app.assemble_argument_collection(parse_docstring=True) if a.show]
    shown = [a for a in arguments if _group(a) != "Everywhere"]
    words = " ".join(_metavar(a) for a in shown if _positional(a))
    yield from (f"### {name}", "", f"`standfast {name}{' ' + words if words else ''} [flags]`", "")
    yield from (_prose(inspect.getdoc(app.default_command) or ""), "")
    if shown:
        yield from ("| argument or flag | meaning |", "|---|---|")
        yield from (f"| {_names(a)} | {_meaning(a)} |" for a in shown)
        yield ""
    if examples:
        yield from ("```sh", *examples, "```", "")


def _everywhere(app: App) -> Iterator[str]:
    arguments = app["get"].assemble_argument_collection(parse_docstring=True)
    yield from ("| flag | meaning |", "|---|---|")
    yield from (f"| {_names(a)} | {_meaning(a)} |" for a in arguments if _group(a) == "Everywhere")


def _settings() -> Iterator[str]:
    yield "Each comes from the strongest place that has it: flag, environment, `[client]` of the nearest"
    yield "`standfast.toml`, `[contexts.NAME]` of `$XDG_CONFIG_HOME/standfast/config.toml`, default."
    yield from ("", "| setting | environment | meaning |", "|---|---|---|")
    yield from (f"| `{name}` | `{PREFIX}{name.upper()}` | {_cell(meaning)} |" for name, meaning in FIELDS.items())
    yield f"| - | `{PREFIX}TOKEN` | the token itself; there is no flag for it |"


def _group(argument: Any) -> str:
    groups = argument.parameter.group or ()
    return next((g if isinstance(g, str) else g.name for g in groups), "")


def _positional(argument: Any) -> bool:
    return argument.field_info.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)


def _metavar(argument: Any) -> str:
    name = argument.field_info.name.upper()
    return f"{name}…" if argument.field_info.kind is inspect.Parameter.VAR_POSITIONAL else name


def _names(argument: Any) -> str:
    if _positional(argument):
        return f"`{_metavar(argument)}`"
    return ", ".join(f"`{name}`" for name in sorted(argument.names, key=len, reverse=True) if name.startswith("-"))


def _meaning(argument: Any) -> str:
    return _cell(argument.parameter.help or "")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _prose(text: str) -> str:
    return text.partition("\nArgs:")[0].strip()


if __name__ == "__main__":
    sys.stdout.write(markdown())
