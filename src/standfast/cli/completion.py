"""
`standfast completion`: a script that completes verbs, flags, choices and job names in a shell.

Belongs here: printing the script, and the names of jobs at the moment. Not here: parsing; the script calls back into
the application for names, and knows the rest from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from standfast.cli.exits import Exit
from standfast.cli.terminal import Terminal

if TYPE_CHECKING:
    from standfast.client import Client

NAMES_MAX = 200
"""Jobs whose names are offered: the newest."""


def completion(shell: Literal["bash", "zsh", "fish"], /) -> int:
    """
    Print a completion script for the shell; it completes verbs, flags, choices and names of jobs.

    Args:
        shell: Which shell reads it.
    """
    from standfast.cli.main import build

    terminal = Terminal()
    terminal.out.write(build().generate_completion(prog_name="standfast", shell=shell))
    terminal.out.flush()
    return Exit.OK


def job_names(context: Any) -> list[tuple[str, str]]:
    """
    Names of the newest jobs with their phases, for a shell; none if the control plane does not answer at once.

    Never starts a control plane: pressing the tabulator must change nothing.
    """
    from standfast.client.errors import ClientError

    client = _client()
    if client is None:
        return []
    found: dict[str, str] = {}
    try:
        with client:
            for job in client.jobs.list(page_size=NAMES_MAX, limit=NAMES_MAX):
                found.setdefault(job.name, str(job.phase))
    except ClientError:
        return []
    return sorted(found.items())


def _client() -> Client | None:
    from standfast.cli.contexts import resolve
    from standfast.client import Client
    from standfast.settings import Settings

    settings = resolve({})
    if settings.server is not None:
        return Client(settings.server, token=settings.token, namespace=settings.namespace, retry_for_s=0.0)
    socket = Settings.load().state_path / "api.sock"
    if not socket.exists():
        return None
    return Client(socket=str(socket), namespace=settings.namespace, retry_for_s=0.0)
