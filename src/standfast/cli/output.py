"""
The machine-readable faces of data: what `-o` may be, and documents written that way.

Belongs here: json, yaml, jsonl, name and fields. Not here: tables for people (`render`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from standfast.cli.exits import Exit, Quit
from standfast.cli.terminal import Terminal, inert

KINDS = ("table", "wide", "json", "yaml", "jsonl", "name")


@dataclass(frozen=True)
class Format:
    """
    One of `KINDS`, or `fields` with the paths to show.
    """

    kind: str
    fields: tuple[str, ...] = ()

    @property
    def for_people(self) -> bool:
        """
        Whether a table or prose is wanted.
        """
        return self.kind in ("table", "wide")


def parse_format(text: str) -> Format:
    """
    The format that `-o` names.

    Raises:
        Quit: It names none.
    """
    if text in KINDS:
        return Format(text)
    name, equals, rest = text.partition("=")
    if name == "fields" and equals and rest:
        return Format("fields", tuple(part.strip() for part in rest.split(",")))
    raise Quit(Exit.USAGE, f"-o {text!r} is none of {', '.join(KINDS)}, fields=uid,phase,…")


def show_one(terminal: Terminal, format: Format, value: Any) -> None:
    """
    One document.
    """
    document = msgspec.to_builtins(value)
    if format.kind == "json":
        terminal.print(_pretty(document))
    elif format.kind == "yaml":
        terminal.print(_yaml(document))
    else:
        terminal.print(_line(format, document))


def show_many(
    terminal: Terminal, format: Format, values: Iterable[Any], *, about: dict[str, Any] | None = None
) -> None:
    """
    A list: one document with `items` for json and yaml, else a line each, as they come.
    """
    if format.kind in ("json", "yaml"):
        document = {"items": [msgspec.to_builtins(value) for value in values], **(about or {})}
        terminal.print(_pretty(document) if format.kind == "json" else _yaml(document))
        return
    for value in values:
        show_line(terminal, format, value)


def show_line(terminal: Terminal, format: Format, value: Any) -> None:
    """
    One value on a line by itself; json gives one object a line.
    """
    document = msgspec.to_builtins(value)
    if format.kind in ("json", "jsonl", "yaml"):
        terminal.print(msgspec.json.encode(document).decode())
    else:
        terminal.print(_line(format, document))


def at(document: Any, path: str) -> Any:
    """
    The value at a dotted path, such as `attempt.handle` or `attempts.0.number`; None if there is none.
    """
    for part in path.split("."):
        if isinstance(document, dict):
            document = document.get(part)
        elif isinstance(document, list) and part.lstrip("-").isdigit() and -len(document) <= int(part) < len(document):
            document = document[int(part)]
        else:
            return None
    return document


def _line(format: Format, document: Any) -> str:
    if format.kind == "name":
        return str(at(document, "uid") or at(document, "name") or "")
    if format.kind == "fields":
        return "\t".join(_word(at(document, field)) for field in format.fields)
    return msgspec.json.encode(document).decode()


def _word(value: Any) -> str:
    if value is None:
        return "-"
    return inert(value) if isinstance(value, str) else msgspec.json.encode(value).decode()


def _pretty(document: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def _yaml(document: Any) -> str:
    import yaml

    return str(yaml.safe_dump(document, sort_keys=False, allow_unicode=True)).rstrip("\n")


def columns_of(format: Format, usual: Sequence[str], wide: Sequence[str]) -> Sequence[str]:
    """
    The columns of a table for people.
    """
    return wide if format.kind == "wide" else usual
