"""
What a person hears when the control plane in this process cannot start for a reason that nobody foresaw.

Belongs here: one sentence, and the whole story in a file. Not here: what has a name of its own (`problems`).
"""

from __future__ import annotations

import os
import traceback
from pathlib import Path

from standfast.cli.exits import Exit, Quit

FILE = "trouble.log"


def not_started(error: BaseException, *, folder: str, log: Path) -> Quit:
    """
    The end of the command, exit 1, with the cause in a sentence and the place of the traceback.

    Args:
        error: What went wrong.
        folder: State folder of the control plane.
        log: Folder for the traceback; that of the user, since the state folder may be what is wrong.
    """
    return Quit(
        Exit.TROUBLE,
        f"the control plane on {folder} could not start: {in_words(error)}; nothing was sent",
        name="not_started",
        hint=_written(error, log),
    )


def in_words(error: BaseException) -> str:
    """
    The error in one line; one of the system as its text and the file that it is about.
    """
    if isinstance(error, OSError) and error.strerror:
        about = f": {os.fsdecode(error.filename)}" if isinstance(error.filename, str | bytes) else ""
        return f"{error.strerror}{about}"
    return " ".join(f"{type(error).__name__}: {error}".split())


def _written(error: BaseException, folder: Path) -> str:
    path = folder / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text("".join(traceback.format_exception(error)))
    except OSError:
        return "STANDFAST_STATE_DIR chooses another folder, STANDFAST_SERVER a control plane that runs."
    return f"STANDFAST_STATE_DIR chooses another folder. Where it happened: {path}"
