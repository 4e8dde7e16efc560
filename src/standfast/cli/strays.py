"""
Variables of the environment that look like a setting of ours and are none: said aloud, because they do nothing.

Belongs here: which names those are, and what was probably meant. Not here: settings (`contexts`, `standfast.settings`).

Only what is near a setting's name counts as mistyped. Engines that others plug in may have variables of their own, jobs
are told about themselves in some, and tests use others; about all of these nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from standfast.cli.contexts import FIELDS, PREFIX

NEARNESS = 0.75
"""Of two names, 0 to 1: `SEVER` and `SERVER` have 0.91, `SLOTS` and `STORE` 0.4."""

MEANT = {"URL": "SERVER", "HOST": "SERVER", "ADDRESS": "LISTEN", "PORT": "LISTEN", "STATE": "STATE_DIR"}
"""Names that people try, and what does it."""

OURS = frozenset(
    (
        *(name.upper() for name in FIELDS),
        *("TOKEN", "JOB", "JOB_NAME", "ATTEMPT", "ATTEMPT_ID", "FENCE", "RUN_DIR", "RECEIPT", "STOP_GRACE"),
        *("MEMORY_MIB", "FAILPOINT", "FAILPOINT_TRACE", "KEEPER", "KEEPER_FAILPOINT"),
    )
)
"""Of the client side, of a job about itself, and of tests; those of a control plane are added when they are needed."""


def sentences(environment: Mapping[str, str]) -> Iterator[str]:
    """
    One sentence for each variable that was probably meant to be a setting.
    """
    names = [name.removeprefix(PREFIX) for name in environment if name.startswith(PREFIX)]
    unknown = sorted(name for name in names if name not in OURS)
    if not unknown:
        return
    from difflib import get_close_matches

    from standfast.settings import Settings

    known = OURS | {name.upper() for name in Settings.__struct_fields__}
    for name in unknown:
        if name in known:
            continue
        meant = MEANT.get(name) or next(iter(get_close_matches(name, sorted(known), n=1, cutoff=NEARNESS)), None)
        if meant is not None:
            yield f"warning: {PREFIX}{name} is set, and is no setting; did you mean {PREFIX}{meant}?"
