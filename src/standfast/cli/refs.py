"""
REF: how people name a job. A uid, a unique beginning of one, or a name; `@2` behind it names an attempt.

Belongs here: from a REF to one job, and refusing to guess between two. Not here: what is done with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from standfast.cli.exits import Exit, Quit
from standfast.client.errors import NotFound

if TYPE_CHECKING:
    from standfast.client import Client, JobView

UID = re.compile(r"job_[0-9a-z]{26}")
PREFIX = re.compile(r"job_[0-9a-z]{1,25}")
FINAL = ("succeeded", "failed", "cancelled")
LOOK_AT = 1000
"""Newest jobs among which the beginning of a uid is looked for."""


@dataclass(frozen=True)
class Ref:
    """
    A REF taken apart.
    """

    text: str
    attempt: int | None


def parse(text: str) -> Ref:
    """
    The parts of a REF; `job/` before it is allowed and says nothing new.

    Raises:
        Quit: It is none.
    """
    kind, slash, rest = text.rpartition("/")
    if slash and kind not in ("job", "jobs"):
        raise Quit(Exit.USAGE, f"{text!r}: {kind!r} is no kind of thing that is known here; jobs are")
    name, at, number = rest.rpartition("@")
    if not at:
        name, number = rest, ""
    if not name or (at and not re.fullmatch(r"[1-9][0-9]*", number)):
        raise Quit(Exit.USAGE, f"{text!r} is no job; write a name, a uid, or NAME@ATTEMPT")
    return Ref(name, int(number) if number else None)


def find(client: Client, text: str) -> JobView:
    """
    The one job that the REF names.

    Raises:
        Quit: It is none, or names two unfinished jobs or several uids. NotFound: There is no such job.
    """
    ref = parse(text)
    if UID.fullmatch(ref.text):
        return client.jobs.get(ref.text)
    if PREFIX.fullmatch(ref.text):
        found = _by_prefix(client, ref.text)
        if found is not None:
            return found
    return _by_name(client, ref.text)


def _by_prefix(client: Client, prefix: str) -> JobView | None:
    matches: list[JobView] = []
    for job in client.jobs.list(namespace="", page_size=LOOK_AT, limit=LOOK_AT):
        if job.uid.startswith(prefix):
            matches.append(job)
    if len(matches) > 1:
        raise Quit(
            Exit.USAGE,
            f"{prefix!r} is the beginning of {len(matches)} uids: {', '.join(job.uid for job in matches[:5])}",
            name="ambiguous",
        )
    return matches[0] if matches else None


def _by_name(client: Client, name: str) -> JobView:
    newest = list(client.jobs.list(name=name, page_size=20, limit=20))
    if not newest:
        raise NotFound(
            f"there is no job {name!r} in namespace {client.namespace}",
            code="job_not_found",
            hint="standfast get jobs; another namespace is chosen with -n.",
            status=404,
        )
    open_ones = [job for job in newest if job.phase not in FINAL]
    if len(open_ones) > 1:
        raise Quit(
            Exit.USAGE,
            f"{len(open_ones)} unfinished jobs are called {name!r}: {', '.join(job.uid for job in open_ones)}",
            name="ambiguous",
            hint="Name the one you mean by its uid.",
        )
    return newest[0]
