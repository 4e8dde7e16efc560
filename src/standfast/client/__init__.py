"""
The client: what a program uses to talk to a control plane; the command line is built on it.

Belongs here: `Client` and `AsyncClient` with the same names and types, `Spec`, the errors. Does not belong here:
anything that a control plane decides. `calls` says what is asked, `transport` sends it, `retrying` and `following` say
when again, `sync` and `aio` put them together.
"""

from typing import TYPE_CHECKING, Any

from standfast.client.errors import (
    BadAnswer,
    CannotCome,
    ClientError,
    Conflict,
    Gone,
    Invalid,
    JobCancelled,
    JobFailed,
    JobNotSucceeded,
    JobUncertain,
    KeyReused,
    NoAnswer,
    NotAllowed,
    NotFound,
    Problem,
    Unavailable,
    WaitTimeout,
)
from standfast.client.following import LogLine
from standfast.client.spec import Spec
from standfast.client.sync import Client, JobView

if TYPE_CHECKING:
    from standfast.client.aio import AsyncClient, AsyncJobView

__all__ = [
    "AsyncClient",
    "AsyncJobView",
    "BadAnswer",
    "CannotCome",
    "Client",
    "ClientError",
    "Conflict",
    "Gone",
    "Invalid",
    "JobCancelled",
    "JobFailed",
    "JobNotSucceeded",
    "JobUncertain",
    "JobView",
    "KeyReused",
    "LogLine",
    "NoAnswer",
    "NotAllowed",
    "NotFound",
    "Problem",
    "Spec",
    "Unavailable",
    "WaitTimeout",
]


def __getattr__(name: str) -> Any:
    """
    The asyncio half, imported when first asked for: a blocking program starts a tenth of a second sooner without it.
    """
    if name in ("AsyncClient", "AsyncJobView"):
        from standfast.client import aio

        return getattr(aio, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
