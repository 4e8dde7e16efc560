"""
Every setting of a control plane, parsed once into one frozen value.

Belongs here: names, types, defaults, descriptions, and where values come from: given > environment > file > default.
Not here: what is done with them (`wiring`), or settings of the command line's client side (`cli.contexts`).
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

import msgspec
from msgspec import Meta

from standfast.core.errors import FieldError, InvalidSpec
from standfast.runtime.world import Limits

PREFIX = "STANDFAST_"
"""Of the environment variables: `STANDFAST_` and the setting's name in capitals."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    How one control plane runs.
    """

    state_dir: Annotated[
        str, Meta(description="Folder that holds the store, the process engine's tickets and output. Local disk only.")
    ] = "~/.local/share/standfast"
    store: Annotated[
        str, Meta(description="`sqlite` (a file in the state folder) or `memory` (nothing survives; for trying out).")
    ] = "sqlite"
    listen: Annotated[str, Meta(description="Address and port of the API. Beyond loopback it needs `tokens_file`.")] = (
        "127.0.0.1:8350"
    )
    tokens_file: Annotated[
        str | None, Meta(description="File of token digests with roles, made by `standfast token create`.")
    ] = None
    engines: Annotated[
        tuple[str, ...], Meta(description="Engines to run, by name; in the environment separated by commas.")
    ] = ("process", "spark")
    engine_options: Annotated[
        dict[str, dict[str, Any]],
        Meta(description="In the file only: what `[server.engine_options.NAME]` holds is handed to that engine."),
    ] = {}
    slots: Annotated[int, Meta(ge=1, description="Jobs per engine that may run at once.")] = 16
    engine_slots: Annotated[
        dict[str, int],
        Meta(description="The same for single engines, by name; in the environment `spark=2,process=8`."),
    ] = {}
    queue_slots: Annotated[
        dict[str, int],
        Meta(description="Jobs per queue that may run at once over all engines; unnamed queues have no limit."),
    ] = {}
    launches: Annotated[int, Meta(ge=1, le=64, description="Launches under way at once per engine.")] = 8
    call_timeout_s: Annotated[
        float, Meta(gt=0, description="Longest wait for one answer of an engine, in seconds.")
    ] = 30.0
    drain_s: Annotated[float, Meta(ge=0, description="Longest wait for calls under way when stopping, in seconds.")] = (
        10.0
    )
    look_every_s: Annotated[
        float, Meta(gt=0, description="Seconds between two looks at everything on an engine that tells of changes.")
    ] = 10.0
    poll_every_s: Annotated[float, Meta(gt=0, description="Seconds between two looks at an engine that does not.")] = (
        1.0
    )
    sweep_every_s: Annotated[float, Meta(gt=0, description="Seconds between two searches for orphans.")] = 600.0
    body_bytes_max: Annotated[int, Meta(ge=1024, description="Largest request body, in bytes.")] = 4 * 1024 * 1024
    requests_per_s: Annotated[
        float, Meta(gt=0, description="Requests a second that one caller may make, with bursts of twice that.")
    ] = 20_000.0
    log_level: Annotated[str, Meta(description="`debug`, `info`, `warning` or `error`; logs go to stderr.")] = "info"
    log_format: Annotated[str, Meta(description="`text` or `json`.")] = "text"

    @classmethod
    def load(cls, given: Mapping[str, Any] | None = None, *, file: str | Path | None = None) -> Self:
        """
        The settings from what is given, else the environment, else the file, else the defaults.

        Args:
            given: By name; None values count as not given.
            file: A TOML file; None: `standfast.toml` in this folder or one above it, if there is one.

        Raises:
            InvalidSpec: Every wrong setting, its source in the message; nothing was started.
        """
        found = Path(file) if file is not None else _upwards("standfast.toml")
        merged: dict[str, Any] = {}
        wrong: list[FieldError] = []
        for source, values in (
            (str(found), _from_file(found) if found else {}),
            ("environment", _from_environment(cls, os.environ)),
            ("given", {k: v for k, v in (given or {}).items() if v is not None}),
        ):
            for name, value in values.items():
                kind = cls.__annotations__.get(name)
                if name not in cls.__struct_fields__ or kind is None:
                    wrong.append(FieldError(f"/{name}", "unknown_setting", f"no such setting (from {source})"))
                    continue
                merged[name] = value
        if not wrong:
            try:
                return msgspec.convert(merged, cls, strict=False)
            except msgspec.ValidationError as error:
                wrong.append(FieldError("", "malformed", str(error)))
        raise InvalidSpec(wrong, hint="See docs/reference/settings.md.")

    @property
    def state_path(self) -> Path:
        """
        The state folder, absolute.
        """
        return Path(self.state_dir).expanduser().absolute()

    @property
    def address(self) -> tuple[str, int]:
        """
        Host and port to listen on.

        Raises:
            InvalidSpec: `listen` is not HOST:PORT.
        """
        host, _, port = self.listen.rpartition(":")
        if not host or not port.isdigit() or int(port) > 65535:
            raise InvalidSpec([FieldError("/listen", "malformed", "must be HOST:PORT")])
        return host.strip("[]"), int(port)

    @property
    def limits(self) -> Limits:
        """
        The bounds of the loop.
        """
        return Limits(
            slots=self.slots,
            engine_slots=self.engine_slots,
            queue_slots=self.queue_slots,
            launches=self.launches,
            call_timeout_s=self.call_timeout_s,
            drain_s=self.drain_s,
            look_every_s=self.look_every_s,
            poll_every_s=self.poll_every_s,
            sweep_every_s=self.sweep_every_s,
        )


def _upwards(name: str) -> Path | None:
    """
    The nearest file of that name in this folder or above.
    """
    here = Path.cwd()
    return next((p for folder in (here, *here.parents) if (p := folder / name).is_file()), None)


def _from_file(path: Path) -> dict[str, Any]:
    """
    The `[server]` table of a TOML file.
    """
    try:
        document = tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSpec([FieldError("", "malformed", f"{path}: {error}")]) from error
    table = document.get("server", {})
    return dict(table) if isinstance(table, dict) else {}


def _from_environment(cls: type[Settings], environment: Mapping[str, str]) -> dict[str, Any]:
    """
    Settings that the environment names; lists and tables are split at commas.
    """
    values: dict[str, Any] = {}
    for name in cls.__struct_fields__:
        text = environment.get(PREFIX + name.upper())
        if text is None:
            continue
        if name == "engines":
            values[name] = [part.strip() for part in text.split(",") if part.strip()]
        elif name.endswith("_slots"):
            values[name] = dict(pair.strip().split("=", 1) for pair in text.split(",") if "=" in pair)
        else:
            values[name] = text
    return values
