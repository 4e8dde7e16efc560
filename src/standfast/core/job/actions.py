"""
What must be done in the outside world next: values that the shell carries out, derived from the stored job alone.
"""

from __future__ import annotations

import msgspec

from standfast.core.job.inputs import Remainder


class Rest(msgspec.Struct, frozen=True, gc=False):
    """
    Nothing; time or a person moves it.
    """


class AwaitTurn(msgspec.Struct, frozen=True, gc=False):
    """
    Stand in the queue until there is a slot.
    """


class Launch(msgspec.Struct, frozen=True, gc=False):
    """
    Send the attempt to its engine under its handle; only ever in the step that crossed the write boundary.
    """

    handle: str


class Look(msgspec.Struct, frozen=True, gc=False):
    """
    Ask the engine what is the case.
    """

    handle: str


class Halt(msgspec.Struct, frozen=True, gc=False):
    """
    Ask the engine to end the attempt within `grace_s` seconds, then look; only a look confirms.
    """

    handle: str
    grace_s: float


class Remove(msgspec.Struct, frozen=True, gc=False):
    """
    Remove a remainder of a finished job.
    """

    what: Remainder


Action = Rest | AwaitTurn | Launch | Look | Halt | Remove
