"""
Flags that several verbs share, each written down once with its meaning.

Belongs here: the dataclasses that `cyclopts` flattens into flags. Not here: where values come from when a flag is not
given (`contexts`), or what a verb does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from cyclopts import Group, Parameter

from standfast.cli.exits import Exit, Quit
from standfast.cli.terminal import Colour
from standfast.cli.times import parse_duration_s

EVERYWHERE = Group("Everywhere", sort_key=100)
WAITING = Group("Waiting", sort_key=50)
IDENTITY = Group("Identity of the request", sort_key=60)

Words = Annotated[tuple[str, ...], Parameter(consume_multiple=False, negative="")]
"""A flag that may be given several times, with one value each time."""


@Parameter(name="*", group=EVERYWHERE)
@dataclass(frozen=True)
class Everywhere:
    """
    Which control plane, and how to show what it says.
    """

    server: str | None = None
    "URL of the control plane. Without one, this process opens the state folder itself."

    context: str | None = None
    "Context of config.toml to use."

    namespace: Annotated[str | None, Parameter(name=("--namespace", "-n"))] = None
    "Namespace of jobs."

    token_file: str | None = None
    "File with the token; a secret is never a flag's value."

    output: Annotated[str | None, Parameter(name=("--output", "-o"))] = None
    "How to show data: table, wide, json, yaml, jsonl, name, or fields=uid,phase,attempt.handle."

    color: Colour | None = None
    "Colour on terminals: auto, always, never."

    utc: Annotated[bool | None, Parameter(negative="")] = None
    "Times in UTC instead of local time."


@Parameter(name="*", group=IDENTITY)
@dataclass(frozen=True)
class Identity:
    """
    Under which id a change is sent, so that sending it again cannot do it twice.
    """

    request_id: str | None = None
    "Request id to send, as printed after a lost answer; default: a fresh one."

    key: str | None = None
    "Business key, such as orders-2026-11-30: one key never makes two jobs."

    def chosen(self) -> str | None:
        """
        The one that was given, if any.

        Raises:
            Quit: Both were, or it cannot be one.
        """
        if self.request_id is not None and self.key is not None:
            raise Quit(Exit.USAGE, "--key and --request-id say the same thing; give one of them")
        chosen = self.key if self.key is not None else self.request_id
        if chosen is not None and not (1 <= len(chosen) <= 255 and chosen.isascii() and chosen.isprintable()):
            raise Quit(Exit.USAGE, "a key is 1..255 printable ASCII characters; nothing was sent")
        return chosen


@Parameter(name="*", group=WAITING)
@dataclass(frozen=True)
class Waiting:
    """
    Whether to return when a change is accepted, or when its end is confirmed.
    """

    wait: Annotated[bool, Parameter(negative="")] = False
    "Wait for the confirmed end; without it the command returns when the change is durable."

    timeout: str | None = None
    "Longest wait, such as 10m; after it exit 7, and the job goes on. Goes with --wait."

    def limit_s(self) -> float | None:
        """
        Seconds to wait at most. To be asked before anything is sent, so that a mistake costs nothing.

        Raises:
            Quit: --timeout is no duration, or came without --wait and so would mean nothing.
        """
        if self.timeout is not None and not self.wait:
            raise Quit(Exit.USAGE, "--timeout goes with --wait; nothing was sent")
        return seconds(self.timeout, "--timeout")


@Parameter(name="*")
@dataclass(frozen=True)
class Consent:
    """
    The answer to the question that destructive verbs ask.
    """

    yes: Annotated[bool, Parameter(name=("--yes", "-y"), negative="")] = False
    "Do not ask. Without a terminal and without this, nothing is sent and the exit code is 2."


NOWHERE = Everywhere()
FRESH = Identity()
AT_ONCE = Waiting()
ASK = Consent()
"""The flags of each kind when none is given."""


def seconds(text: str | None, flag: str) -> float | None:
    """
    The duration that the flag gives, in seconds.

    Raises:
        Quit: It is none.
    """
    try:
        return None if text is None else parse_duration_s(text)
    except ValueError as error:
        raise Quit(Exit.USAGE, f"{flag}: {error}; nothing was sent") from None


def pairs(words: Sequence[str], flag: str) -> dict[str, str]:
    """
    `k=v` words as a mapping.

    Raises:
        Quit: One is not of that form, or a key comes twice.
    """
    found: dict[str, str] = {}
    for word in words:
        for part in word.split(",") if flag == "-l" else (word,):
            key, equals, value = part.partition("=")
            if not equals or not key:
                raise Quit(Exit.USAGE, f"{flag} {word!r} is not of the form key=value")
            if found.setdefault(key, value) != value:
                raise Quit(Exit.USAGE, f"{flag} names {key!r} twice")
    return found
