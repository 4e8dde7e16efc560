"""
From words on the command line to a spec: a manifest, a file with arguments, or a plain command.

Belongs here: what `run`, `submit` and `plan` take. Not here: sending it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

from cyclopts import Group, Parameter

from standfast.cli import command_line
from standfast.cli.exits import Exit, Quit
from standfast.cli.options import Words, pairs
from standfast.cli.times import parse_duration_s
from standfast.client.spec import Common, Spec
from standfast.core.errors import InvalidSpec

JOB = Group("The job", sort_key=40)
MANIFESTS = (".yaml", ".yml", ".json")


@Parameter(name="*", group=JOB)
@dataclass(frozen=True)
class Work:
    """
    The job, as flags; they change what a manifest says.
    """

    engine: Annotated[str | None, Parameter(name=("--engine", "-e"))] = None
    "Engine to run on, default process."

    name: str | None = None
    "Name of the job, default: made from the command."

    label: Annotated[Words, Parameter(name=("--label", "-l"))] = ()
    "Label k=v; may be given several times."

    retries: int | None = None
    "Attempts after the first one that failed."

    deadline: str | None = None
    "Longest run of one attempt, such as 2h."

    memory: str | None = None
    "Memory of one attempt, such as 512m or 4g."

    cpus: float | None = None
    "Cores of one attempt."

    queue: str | None = None
    "Queue to wait in."

    priority: int | None = None
    "Turn within the queue, higher first."

    env: Annotated[Words, Parameter(name=("--env", "-E"))] = ()
    "Variable K=V for the job; not for secrets, it is stored with the job."

    cwd: Path | None = None
    "Folder to run in; default: this one, if the control plane is on this machine."

    conf: Words = ()
    "Engine setting k=v, such as a Spark property."

    def spec(self, file: str | None, *, here: Path | None) -> Spec:
        """
        The job that FILE, the words behind `--` and the flags describe.

        Args:
            file: Manifest, program, or `-` for a manifest on stdin. None: the words behind `--` are the command.
            here: Folder to run in if none is given; None: the control plane may be elsewhere.

        Raises:
            Quit: They describe no job. InvalidSpec: The manifest is wrong.
        """
        words = command_line.behind()
        if file is None and not words:
            raise Quit(
                Exit.USAGE,
                "nothing to run: give a manifest, a program, or -- and a command",
                hint="standfast run --help",
            )
        if file is not None and is_manifest(file):
            if words:
                raise Quit(Exit.USAGE, f"{file} is a manifest; its arguments belong into it, not behind --")
            return self._over(one_manifest(file))
        return self._plain(file, words or (), here)

    def specs(self, file: str | None, *, here: Path | None, manifest: bool = False) -> list[Spec]:
        """
        As `spec`, but a manifest may hold several jobs; `manifest`: it is one, whatever its name ends with.

        Raises:
            Quit: They describe no job, or a flag names one of several. InvalidSpec: The manifest is wrong.
        """
        if file is None or command_line.behind() or not (manifest or is_manifest(file)):
            return [self.spec(file, here=here)]
        found = manifests(file)
        if len(found) > 1 and self.name is not None:
            raise Quit(Exit.USAGE, f"{file} holds {len(found)} jobs; --name cannot be the name of all of them")
        return [self._over(spec) for spec in found]

    def _plain(self, file: str | None, words: tuple[str, ...], here: Path | None) -> Spec:
        engine = self.engine or "process"
        common = self._common()
        if engine == "process":
            cwd = (self.cwd.absolute() if self.cwd else here) or None
            env = pairs(self.env, "--env")
            if self.conf:
                raise Quit(Exit.USAGE, "--conf is for engines with settings; the process engine has none")
            if file is not None and file.endswith(".py"):
                return Spec.python(_found(file, cwd), args=words, cwd=cwd, env=env, **common)
            return Spec.process((file, *words) if file else words, cwd=cwd, env=env, **common)
        if file is None:
            raise Quit(Exit.USAGE, f"engine {engine} needs a file to run; arguments for it go behind --")
        if engine == "spark":
            return Spec.spark(_found(file, here), args=words, conf=pairs(self.conf, "--conf"), **common)
        return Spec.of(engine, {"file": file, "args": list(words), **pairs(self.conf, "--conf")}, called=file, **common)

    def _common(self) -> Common:
        found: dict[str, Any] = {
            "name": self.name,
            "labels": pairs(self.label, "-l"),
            "retries": self.retries,
            "deadline_s": None if self.deadline is None else _duration_s(self.deadline, "--deadline"),
            "memory_mib": None if self.memory is None else _mebibytes(self.memory),
            "cpus": self.cpus,
            "queue": self.queue,
            "priority": self.priority,
        }
        return cast(Common, {name: value for name, value in found.items() if value is not None})

    def _over(self, spec: Spec) -> Spec:
        """
        The manifest's job with what the flags say instead.
        """
        given: dict[str, Any] = dict(self._common())
        fields: dict[str, Any] = {
            name: given[name] for name in ("name", "deadline_s", "queue", "priority") if name in given
        }
        if given["labels"]:
            fields["labels"] = {**spec.labels, **given["labels"]}
        if self.engine:
            fields["engine"] = self.engine
        if self.env or self.cwd or self.conf:
            raise Quit(Exit.USAGE, "--env, --cwd and --conf go with a plain command; write them into the manifest")
        import msgspec

        if "retries" in given:
            fields["retry"] = msgspec.structs.replace(spec.work.retry, max_attempts=1 + given["retries"])
        resources = {name: given[name] for name in ("memory_mib", "cpus") if name in given}
        if resources:
            fields["resources"] = msgspec.structs.replace(spec.work.resources, **resources)
        return spec.changed(**fields) if fields else spec


AS_IT_IS = Work()
"""No flag given."""


def is_manifest(file: str) -> bool:
    """
    Whether the word names a manifest rather than a program.
    """
    return file == "-" or file.endswith(MANIFESTS)


def one_manifest(file: str) -> Spec:
    """
    The one job of a manifest.

    Raises:
        Quit: It cannot be read, or holds several jobs. InvalidSpec: Every mistake in it.
    """
    specs = manifests(file)
    if len(specs) != 1:
        raise Quit(Exit.USAGE, f"{file} holds {len(specs)} jobs", hint=f"standfast apply -f {file}")
    return specs[0]


def manifests(file: str) -> list[Spec]:
    """
    Every job of a manifest, `-` being stdin.

    Raises:
        Quit: It cannot be read. InvalidSpec: Every mistake in it.
    """
    from standfast.manifests import native

    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise Quit(Exit.USAGE, f"cannot read {file}: {error}") from error
    try:
        return [Spec.of_manifest(manifest) for manifest in native.parse(text)]
    except InvalidSpec as error:
        raise InvalidSpec(error.errors, hint=f"The pointers are into {file}; nothing was sent.") from error


def _found(file: str, here: Path | None) -> str:
    """
    The file's absolute path if it is on this machine, else the word as it stands.
    """
    path = Path(file)
    if here is None or "://" in file or path.is_absolute():
        return file
    return str((here / path).resolve())


def _duration_s(text: str, flag: str) -> float:
    try:
        return parse_duration_s(text)
    except ValueError as error:
        raise Quit(Exit.USAGE, f"{flag}: {error}") from None


_UNITS_MIB = {"": 1.0, "m": 1.0, "g": 1024.0, "t": 1024.0 * 1024}


def _mebibytes(text: str) -> int:
    """
    MiB of `512`, `512m`, `4g` or `4GiB`.
    """
    word = text.lower().removesuffix("ib").removesuffix("b")
    unit = word[-1:] if word[-1:].isalpha() else ""
    try:
        return int(float(word.removesuffix(unit)) * _UNITS_MIB[unit])
    except (ValueError, KeyError):
        raise Quit(Exit.USAGE, f"--memory {text!r} is not a size; write for example 512m or 4g") from None
