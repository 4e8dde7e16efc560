"""
`standfast serve`: a control plane in the foreground, until SIGTERM or Ctrl-C.

Belongs here: flags to settings. Not here: what is started (`standfast.wiring`).
"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated, NoReturn

from cyclopts import Parameter

from standfast.cli.exits import Exit, Quit
from standfast.cli.options import Words
from standfast.cli.terminal import Terminal
from standfast.core.errors import StandfastError


def _leave(number: int, frame: object) -> NoReturn:
    """
    What SIGTERM and Ctrl-C mean, before the server listens and after it has drained.

    The HTTP server drains on the first signal and then raises it once more for whoever was there before; the default
    would kill the process there, with the store still open. An exception unwinds instead, and everything is closed.
    """
    raise SystemExit(0)


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
    from standfast import wiring
    from standfast.settings import Settings

    given = {
        "listen": listen,
        "state_dir": None if state_dir is None else str(state_dir),
        "store": store,
        "engines": list(engine) or None,
        "tokens_file": None if tokens_file is None else str(tokens_file),
        "slots": slots,
        "log_level": log_level,
        "log_format": log_format,
    }
    try:
        settings = Settings.load(given, file=config)
        host, port = settings.address
        terminal = Terminal()
        terminal.say(f"→ starting on http://{host}:{port}, state in {settings.state_path}")
        if terminal.asks:
            terminal.say(f"  try: standfast run --server http://{host}:{port} -- echo hello")
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _leave)
        wiring.run(settings)
    except SystemExit:
        return Exit.OK
    except StandfastError as error:
        code = Exit.USAGE if error.code != "store_held" else Exit.CONFLICT
        raise Quit(code, error.message, name=error.code, hint=error.hint) from error
    except OSError as error:
        raise Quit(Exit.TROUBLE, f"cannot listen: {error}", name="address_taken") from error
    return Exit.OK
