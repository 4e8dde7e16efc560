"""
`standfast doctor` and `standfast version`: is everything as it should be, and what is it.

Belongs here: what the control plane says of itself, and what only this side can see (versions, clocks, settings).
"""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

from standfast import __version__
from standfast.cli import output
from standfast.cli.exits import Exit
from standfast.cli.options import NOWHERE, Everywhere
from standfast.cli.session import Session, open_session
from standfast.cli.terminal import inert
from standfast.client.errors import ClientError

if TYPE_CHECKING:
    from standfast.cli.style import Style

SIGNS = {True: ("✓", "good"), False: ("✗", "bad"), None: ("·", "dim")}


def doctor(*, everywhere: Everywhere = NOWHERE) -> int:
    """
    Examine the control plane and the way to it; exit 1 if there is trouble, each finding with its next step.
    """
    with open_session(everywhere) as session:
        checks = [_own(session)]
        try:
            told = session.client.doctor()
            checks += told.get("checks", [])
        except ClientError as error:
            checks.append({"name": "server", "ok": False, "message": error.message, "hint": error.hint})
        trouble = any(check.get("ok") is False for check in checks)
        if session.format.for_people:
            for check in checks:
                session.terminal.print(_line(session.terminal.data, check))
        else:
            output.show_one(session.terminal, session.format, {"ok": not trouble, "checks": checks})
        return Exit.TROUBLE if trouble else Exit.OK


def _own(session: Session) -> dict[str, Any]:
    source = session.settings.sources.get("server", "no server configured")
    return {"name": "client", "ok": True, "message": f"{__version__}, talks to {session.where} (from {source})"}


def _line(style: Style, check: dict[str, Any]) -> str:
    sign, colour = SIGNS[check.get("ok")]
    line = (
        f"{style.paint(style.plain(sign), colour)} {inert(str(check.get('name')))}: {inert(str(check.get('message')))}"
    )
    return f"{line}   → {inert(str(check['hint']))}" if check.get("hint") else line


def version(*, everywhere: Everywhere = NOWHERE) -> int:
    """
    The version of this program, and of the Python that runs it.
    """
    with open_session(everywhere) as session:
        document = {"standfast": __version__, "python": platform.python_version()}
        if session.format.for_people:
            session.terminal.print(f"standfast {__version__} (Python {platform.python_version()})")
        else:
            output.show_one(session.terminal, session.format, document)
        return Exit.OK
