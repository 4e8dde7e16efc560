"""
`standfast serve`: a control plane in the foreground, until SIGTERM or Ctrl-C.

Belongs here: its flags and their meanings. Not here: what becomes of them (`foreground`), or what is started
(`standfast.wiring`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from standfast.cli import foreground
from standfast.cli.options import Words


def serve(
    *,
    listen: str | None = None,
    state_dir: Path | None = None,
    store: str | None = None,
    engine: Annotated[Words, Parameter(name=("--engine", "-e"))] = (),
    tokens_file: Path | None = None,
    slots: int | None = None,
    config: Path | None = None,
    log_level: str | None = None,
    log_format: str | None = None,
) -> int:
    """
    Run a control plane and its API until SIGTERM or Ctrl-C, then exit 0.

    On SIGTERM it finishes the calls under way, marks the time of its going, and leaves every job running: the next
    control plane on the same state folder goes on where this one stopped.

    Args:
        listen: Address and port, default 127.0.0.1:8350. Beyond loopback it needs a tokens file.
        state_dir: Folder for the store, tickets and output; a local disk.
        store: sqlite, or memory (nothing survives; for trying out).
        engine: Engine to run; may be given several times.
        tokens_file: File of token digests and roles, as made by `standfast token create`.
        slots: Jobs per engine that may run at once.
        config: TOML file with a [server] table; default: the standfast.toml in this folder or above.
        log_level: debug, info, warning or error.
        log_format: text or json.
    """
    return foreground.run(
        listen=listen,
        state_dir=state_dir,
        store=store,
        engine=engine,
        tokens_file=tokens_file,
        slots=slots,
        config=config,
        log_level=log_level,
        log_format=log_format,
    )
