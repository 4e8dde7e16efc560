"""
A control plane in the foreground: what `standfast serve` does once its flags are values, and the quick way to there.

Belongs here: values to settings, and what the end means; flags written out plainly, read without the parser. Not here:
the flags' meanings (`serve`), or what is started (`standfast.wiring`).

A control plane that died is missed until it is back, so its start imports little; the parser would be a fifth of it.
"""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from standfast.cli.exits import Exit, Quit
from standfast.cli.terminal import Terminal
from standfast.core.errors import StandfastError

FLAGS: Mapping[str, str] = {
    "--listen": "listen",
    "--state-dir": "state_dir",
    "--store": "store",
    "--engine": "engine",
    "-e": "engine",
    "--tokens-file": "tokens_file",
    "--slots": "slots",
    "--config": "config",
    "--log-level": "log_level",
    "--log-format": "log_format",
}
"""Every flag of `serve`, and the name of its value."""

_PATHS = ("state_dir", "tokens_file", "config")
_VALUE = re.compile(r"[\w./~][\w./~:@+,-]*", re.ASCII)
_WHOLE = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)


def plain(words: Sequence[str]) -> dict[str, Any] | None:
    """
    The values of the words if each flag is written out, in a form that can mean one thing only; None if one is not.

    Where it gives values, the parser gives the same; all else, also every mistake and `--help`, is the parser's.
    """
    given: dict[str, Any] = {}
    left = list(reversed(words))
    while left:
        flag, equals, value = left.pop().partition("=")
        name = FLAGS.get(flag)
        if name is None or (equals and not flag.startswith("--")):
            return None
        if not equals:
            value = left.pop() if left else ""
        if not (_WHOLE if name == "slots" else _VALUE).fullmatch(value):
            return None
        if name == "engine":
            given[name] = (*given.get(name, ()), value)
        elif name in given:
            return None
        else:
            given[name] = int(value) if name == "slots" else Path(value) if name in _PATHS else value
    return given


def run(
    *,
    listen: str | None = None,
    state_dir: Path | None = None,
    store: str | None = None,
    engine: Sequence[str] = (),
    tokens_file: Path | None = None,
    slots: int | None = None,
    config: Path | None = None,
    log_level: str | None = None,
    log_format: str | None = None,
) -> int:
    """
    Run a control plane until SIGTERM or Ctrl-C; the exit code.

    Raises:
        Quit: A setting cannot be used, somebody else holds the store, or the address is taken.
    """
    # What a start makes stays; to look for garbage in it is a tenth of the time. `wiring` looks again once it serves.
    gc.disable()
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
        wiring.run(settings)
    except StandfastError as error:
        code = Exit.USAGE if error.code != "store_held" else Exit.CONFLICT
        raise Quit(code, error.message, name=error.code, hint=error.hint) from error
    except OSError as error:
        if error.filename is None:
            # Python's own text names the address once more.
            why = os.strerror(error.errno) if error.errno else str(error)
            raise Quit(Exit.TROUBLE, f"cannot listen on {host}:{port}: {why}", name="address_taken") from error
        # About a file: the state folder, or something in it.
        raise Quit(Exit.TROUBLE, f"cannot start: {error.strerror}: {error.filename}", name="not_started") from error
    finally:
        gc.enable()
    return Exit.OK
