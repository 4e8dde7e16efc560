"""
Settings of the client side: which control plane, as whom, and how to show what it says.

Belongs here: where each value comes from. Strongest first: flag, `STANDFAST_*`, `standfast.toml` in this folder or
above, `$XDG_CONFIG_HOME/standfast/config.toml` with its contexts, default. Not here: settings of a control plane
(`standfast.settings`).

A `standfast.toml` travels with a repository, so it may name a server but never a token: a secret of this user goes
only where this user's own configuration, or environment, or flag says.
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from standfast.cli.exits import Exit, Quit

PREFIX = "STANDFAST_"
PROJECT_FILE = "standfast.toml"
PROJECT_TABLE = "client"

FIELDS: Mapping[str, str] = {
    "server": "URL of the control plane; none: this process opens the state folder itself",
    "context": "name of the context in the user's configuration",
    "namespace": "namespace of jobs",
    "output": "how to show data: table, wide, json, yaml, jsonl, name, fields=…",
    "color": "auto, always, never",
    "utc": "true: times in UTC",
    "token_file": "file that holds the token; not allowed in standfast.toml",
    "retry_for_s": "seconds to repeat a change that nobody answers",
}
"""Every setting of the client side, with its meaning."""


@dataclass(frozen=True)
class ClientSettings:
    """
    What one run of the command line works with; `sources` tells for each value where it came from.
    """

    server: str | None
    context: str | None
    namespace: str
    output: str
    color: str
    utc: bool
    token: str | None
    retry_for_s: float
    journal: Path
    sources: Mapping[str, str]

    @property
    def label(self) -> str:
        """
        The context's name, or the server's address, for people.
        """
        return self.context or self.server or "embedded"


def resolve(
    flags: Mapping[str, Any], *, environment: Mapping[str, str] | None = None, here: Path | None = None
) -> ClientSettings:
    """
    The settings, each from its strongest source.

    Args:
        flags: Values given as flags; None counts as not given.
        environment: None: this process's.
        here: Folder to look for `standfast.toml` from, upwards; None: the current one.

    Raises:
        Quit: A file is broken, names something unknown, or the context does not exist.
    """
    environment = os.environ if environment is None else environment
    here = here or Path.cwd()
    found: dict[str, Any] = {
        "namespace": "default",
        "output": "table",
        "color": "auto",
        "utc": False,
        "retry_for_s": 30.0,
    }
    sources = dict.fromkeys(found, "default")

    def take(values: Mapping[str, Any], source: str) -> None:
        for name, value in values.items():
            if value is not None:
                found[name] = value
                sources[name] = source

    user_file = config_home(environment) / "config.toml"
    user = _toml(user_file)
    project_file = _upwards(here)
    project = _table(_toml(project_file), PROJECT_TABLE, project_file) if project_file else {}
    env = {name: environment.get(PREFIX + name.upper()) or None for name in FIELDS}

    if "token_file" in project:
        raise Quit(
            Exit.USAGE,
            f"{project_file}: token_file is not allowed here",
            hint="A file that travels with a repository must not choose where your token goes; use a context.",
        )
    _known(project, str(project_file))
    name = next(
        (v for v in (flags.get("context"), env["context"], project.get("context"), user.get("current")) if v), None
    )
    contexts = _table(user, "contexts", user_file)
    if name is not None:
        if name not in contexts:
            known = ", ".join(sorted(contexts)) or "none"
            raise Quit(Exit.USAGE, f"there is no context {name!r} in {user_file}; there are: {known}")
        context = contexts[name]
        _known(context, f"{user_file}, context {name}")
        take(context, f"context {name}")
    take(project, str(project_file))
    take(env, "environment")
    take(flags, "flag")
    found["context"] = name if sources.get("server", "").startswith("context ") else None
    return ClientSettings(
        server=(str(found["server"]).rstrip("/") if found.get("server") else None),
        context=found["context"],
        namespace=str(found["namespace"]),
        output=str(found["output"]),
        color=str(found["color"]),
        utc=_truth(found["utc"]),
        token=_token(found, sources, environment),
        retry_for_s=_seconds(found["retry_for_s"]),
        journal=state_home(environment) / "requests.jsonl",
        sources=sources,
    )


def config_home(environment: Mapping[str, str]) -> Path:
    """
    The user's configuration folder for Standfast.
    """
    return Path(environment.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "standfast"


def state_home(environment: Mapping[str, str]) -> Path:
    """
    The folder for what this user's command line must remember.
    """
    return Path(environment.get("XDG_STATE_HOME") or "~/.local/state").expanduser() / "standfast"


def _token(found: Mapping[str, Any], sources: Mapping[str, str], environment: Mapping[str, str]) -> str | None:
    """
    The secret, if there is one that may go to this server.
    """
    file_source = sources.get("token_file", "")
    if file_source == "flag" or (file_source and not environment.get("STANDFAST_TOKEN")):
        if file_source.startswith("context ") and sources.get("server") != file_source:
            return None
        return read_token(Path(str(found["token_file"])).expanduser())
    return environment.get("STANDFAST_TOKEN") or None


def read_token(path: Path) -> str:
    """
    The token in that file.

    Raises:
        Quit: It cannot be read, is empty, or others than its owner may read it.
    """
    try:
        mode = path.stat().st_mode
        text = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Quit(Exit.USAGE, f"cannot read the token file {path}: {error}") from error
    if mode & (stat.S_IRGRP | stat.S_IROTH) and stat.S_ISREG(mode):
        raise Quit(Exit.USAGE, f"{path} can be read by others", hint=f"chmod 600 {path}")
    if not text:
        raise Quit(Exit.USAGE, f"{path} is empty")
    return text


def _upwards(here: Path) -> Path | None:
    return next((p for folder in (here, *here.parents) if (p := folder / PROJECT_FILE).is_file()), None)


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Quit(Exit.USAGE, f"{path}: {error}") from error


def _table(document: Mapping[str, Any], name: str, path: Path) -> dict[str, Any]:
    table = document.get(name, {})
    if not isinstance(table, dict):
        raise Quit(Exit.USAGE, f"{path}: {name} must be a table")
    return table


def _known(values: Mapping[str, Any], where: str) -> None:
    unknown = sorted(set(values) - set(FIELDS))
    if unknown:
        raise Quit(Exit.USAGE, f"{where}: unknown setting {unknown[0]!r}; there are: {', '.join(FIELDS)}")


def _truth(value: Any) -> bool:
    return value if isinstance(value, bool) else str(value).lower() in ("1", "true", "yes", "on")


def _seconds(value: Any) -> float:
    try:
        return max(0.0, float(value))
    except (TypeError, ValueError):
        raise Quit(Exit.USAGE, f"retry_for_s must be a number of seconds, not {value!r}") from None
