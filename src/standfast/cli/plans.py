"""
What `plan` showed, kept so that `run --plan TOKEN` can send exactly that and nothing else.

Belongs here: one file a plan in the state folder of this user, the comparison with a plan made now. Not here: what a
plan is made of, which the control plane decides.

A file holds the whole spec, variables for the job included, and is readable by its owner only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from standfast.cli.exits import Exit, Quit
from standfast.client.spec import Spec
from standfast.core.job.spec import Spec as Work

if TYPE_CHECKING:
    from standfast.client import answers

TOKEN = re.compile(r"pl_[0-9a-f]{12}")
KEPT_MAX = 100
"""Plans kept; the oldest goes first."""

EACH_TIME = "(another one each time)"
"""Stands in a kept plan for a value that is made from a job's identity."""

PATHS_TOLD = 5
"""Differences named, of those that there are."""


class Plan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    One plan as it was shown: what would be sent, to which control plane, and what that said it would do.
    """

    server: str
    made_at: datetime
    name: str
    namespace: str
    labels: Mapping[str, str] = {}
    key: str | None = None
    spec: Work
    shown: Mapping[str, Any]

    @property
    def to_send(self) -> Spec:
        """
        The same work, in the same namespace, whatever the settings say now.
        """
        return Spec(work=self.spec, name=self.name, namespace=self.namespace, labels=self.labels, key=self.key)


class Plans:
    """
    The plans of this user, in one folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, token: str, plan: Plan) -> None:
        """
        Write the plan down.

        Raises:
            OSError: It cannot be written.
        """
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with os.fdopen(os.open(self._folder / f"{token}.json", flags, 0o600), "wb") as file:
            file.write(msgspec.json.encode(plan))
        kept = sorted(self._folder.glob("pl_*.json"), key=lambda path: path.stat().st_mtime)
        for path in kept[:-KEPT_MAX]:
            with suppress(FileNotFoundError):
                path.unlink()

    def find(self, token: str) -> Plan:
        """
        The plan of that token.

        Raises:
            Quit: There is none, or it cannot be read.
        """
        if not TOKEN.fullmatch(token):
            raise Quit(Exit.USAGE, f"{token!r} is no plan's token; standfast plan prints one")
        try:
            return msgspec.json.decode((self._folder / f"{token}.json").read_bytes(), type=Plan)
        except FileNotFoundError:
            hint = f"The {KEPT_MAX} latest plans of this user on this machine are kept. Make it again: standfast plan"
            raise Quit(Exit.NOT_FOUND, f"there is no plan {token}", name="plan_not_found", hint=hint) from None
        except (OSError, msgspec.MsgspecError) as error:
            raise Quit(Exit.TROUBLE, f"the plan {token} cannot be read: {error}", name="plan_unreadable") from error


def lasting(first: Any, second: Any) -> Any:
    """
    What two plans of the same work, made one after the other, have in common; the rest follows from the identity that
    a job gets, such as a digest over its handle, and is marked as such.
    """
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return {name: lasting(first.get(name), second.get(name)) for name in sorted({*first, *second})}
    return first if first == second else EACH_TIME


def shown(planned: answers.Plan) -> dict[str, Any]:
    """
    What the control plane said it would do, without the uid, which is another one each time.
    """
    said = {
        "spec_digest": planned.job.spec_digest if planned.job else None,
        "engine_call": msgspec.to_builtins(planned.engine_call),
    }
    uid = planned.job.uid.removeprefix("job_") if planned.job else ""
    text = msgspec.json.encode(said).decode()
    return msgspec.json.decode(text.replace(uid, "UID") if uid else text, type=dict[str, Any])


def demand_same(token: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """
    Refuse if what would be done now is not what was shown.

    Raises:
        Quit: It is not; names where.
    """
    places = list(_differences(before, now, ""))
    if places:
        more = f" and {len(places) - PATHS_TOLD} more" if len(places) > PATHS_TOLD else ""
        raise Quit(
            Exit.CONFLICT,
            f"what {token} showed is not what would be done now: {', '.join(places[:PATHS_TOLD])}{more};"
            " nothing was sent",
            name="plan_changed",
            hint="Plan again, and look at what it says.",
        )


def _differences(before: Any, now: Any, where: str) -> Iterator[str]:
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for name in sorted({*before, *now}):
            yield from _differences(before.get(name), now.get(name), f"{where}/{name}")
    elif before not in (now, EACH_TIME):
        yield where
