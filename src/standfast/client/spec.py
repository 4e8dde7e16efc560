"""
What to run, as a caller writes it down: one frozen value with the job's name and labels beside its spec.

Belongs here: short ways to write a spec for each engine. Not here: bounds and digests (`core.job.spec`), which the
control plane checks; nothing here asks anybody.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

import msgspec

from standfast.core.job.spec import Spec as Work

if TYPE_CHECKING:
    from standfast.manifests.native import JobManifest


class Common(TypedDict, total=False):
    """
    What every engine's jobs have; keyword arguments of the constructors of `Spec`.

    name: default: made from the program. key: a business key; the same key never makes a second job. retries: attempts
    after the first. deadline_s, start_deadline_s, stop_grace_s: seconds. memory_mib: MiB. cpus: cores. retry,
    exit_codes, failure_rules, receipt, ttl: as in the reference of a job's spec.
    """

    name: str
    namespace: str
    labels: Mapping[str, str]
    key: str
    retries: int
    deadline_s: float
    start_deadline_s: float
    stop_grace_s: float
    memory_mib: int
    cpus: float
    queue: str
    priority: int
    start_at: datetime
    suspend: bool
    retry: Mapping[str, Any]
    exit_codes: Mapping[str, str]
    failure_rules: Sequence[Mapping[str, Any]]
    receipt: str
    ttl: Mapping[str, float | None]


@dataclass(frozen=True)
class Spec:
    """
    One piece of work with its name. namespace None: the client's own. key: the request id to submit it under.
    """

    work: Work
    name: str
    namespace: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    key: str | None = None

    @classmethod
    def process(
        cls,
        argv: Sequence[str],
        *,
        cwd: str | PurePath | None = None,
        env: Mapping[str, str] | None = None,
        **common: Unpack[Common],
    ) -> Spec:
        """
        A command on the control plane's machine, found through PATH, never through a shell.

        Args:
            argv: (n_words,) the command and its arguments.
            cwd: Absolute folder; None: the attempt's own.
            env: Added to the few variables that jobs inherit.
            common: See `Common`.
        """
        program: dict[str, Any] = {"argv": [str(word) for word in argv]}
        if cwd is not None:
            program["cwd"] = str(cwd)
        if env:
            program["env"] = dict(env)
        return cls.of("process", program, called=str(argv[0]) if argv else "job", **common)

    @classmethod
    def python(
        cls,
        script: str | PurePath,
        *,
        args: Sequence[str] = (),
        cwd: str | PurePath | None = None,
        env: Mapping[str, str] | None = None,
        python: str | None = None,
        **common: Unpack[Common],
    ) -> Spec:
        """
        A Python file on the control plane's machine, under the runner that leaves a receipt of how it ended.

        Args:
            script: Path that the control plane can read. args: (n_args,). python: The interpreter.
            cwd, env, common: As for `process`.
        """
        program: dict[str, Any] = {"script": str(script), "args": [str(arg) for arg in args]}
        if cwd is not None:
            program["cwd"] = str(cwd)
        if env:
            program["env"] = dict(env)
        if python is not None:
            program["python"] = python
        return cls.of("process", program, called=PurePath(script).stem, **common)

    @classmethod
    def spark(
        cls,
        main: str | PurePath,
        *,
        args: Sequence[str] = (),
        conf: Mapping[str, str | bool | int | float] | None = None,
        program: Mapping[str, Any] | None = None,
        **common: Unpack[Common],
    ) -> Spec:
        """
        A Spark application: a Python file or a jar.

        Args:
            main: Absolute path or URI that the control plane can read.
            args: (n_args,) of the application.
            conf: Spark properties by name.
            program: Whatever else the Spark engine's program has, such as `packages` or `main_class`.
            common: See `Common`.
        """
        whole: dict[str, Any] = {"main": str(main), **(program or {})}
        if args:
            whole["args"] = [str(arg) for arg in args]
        if conf:
            whole["conf"] = dict(conf)
        return cls.of("spark", whole, called=PurePath(main).stem, **common)

    @classmethod
    def fake(cls, **program_and_common: Any) -> Spec:
        """
        A job for the fake engine, for tests and for trying out; what `Common` does not name goes into the program.
        """
        common = cast(Common, {k: v for k, v in program_and_common.items() if k in Common.__annotations__})
        program = {k: v for k, v in program_and_common.items() if k not in common}
        return cls.of("fake", program, called="fake", **common)

    @classmethod
    def of(
        cls, engine: str, program: Mapping[str, Any], *, called: str | None = None, **common: Unpack[Common]
    ) -> Spec:
        """
        A job for any engine; `program` is what that engine understands.

        Raises:
            TypeError: A keyword that `Common` does not have. msgspec.ValidationError: One that is not of its type.
        """
        unknown = sorted(set(common) - set(Common.__annotations__))
        if unknown:
            raise TypeError(f"unknown argument {unknown[0]!r}; there are: {', '.join(Common.__annotations__)}")
        given: dict[str, Any] = {k: v for k, v in common.items() if v is not None}
        resources = {name: given[name] for name in ("memory_mib", "cpus") if name in given}
        retry = {"max_attempts": 1 + given.get("retries", 0), **given.get("retry", {})}
        named = {name: given[name] for name in Work.__struct_fields__ if name in given}
        work = msgspec.convert(
            {**named, "engine": engine, "program": dict(program), "resources": resources, "retry": retry}, Work
        )
        return cls(
            work=work,
            name=given.get("name") or name_from(called or engine),
            namespace=given.get("namespace"),
            labels=dict(given.get("labels", {})),
            key=given.get("key"),
        )

    @classmethod
    def load(cls, file: str | PurePath) -> Spec:
        """
        The one job of a manifest file.

        Raises:
            OSError: It cannot be read. InvalidSpec: Every mistake in it, or it holds several jobs.
        """
        (spec,) = cls.load_all(file)
        return spec

    @classmethod
    def load_all(cls, file: str | PurePath) -> list[Spec]:
        """
        Every job of a manifest file, in order; the key of each follows from what it says.

        Raises:
            OSError: It cannot be read. InvalidSpec: Every mistake in it.
        """
        from standfast.manifests import native  # brings a YAML reader that most programs do not need

        return [cls.of_manifest(manifest) for manifest in native.parse(Path(file).read_text())]

    @classmethod
    def of_manifest(cls, manifest: JobManifest) -> Spec:
        """
        The job of one parsed manifest.
        """
        return cls(
            work=manifest.spec,
            name=manifest.metadata.name,
            namespace=manifest.metadata.namespace,
            labels=manifest.metadata.labels,
            key=manifest.request_id,
        )

    def changed(self, **fields: Any) -> Spec:
        """
        The same with these fields of its work, or its own name, namespace, labels or key, replaced.
        """
        own = {k: v for k, v in fields.items() if k in ("name", "namespace", "labels", "key")}
        work = {k: v for k, v in fields.items() if k not in own}
        return replace(self, work=msgspec.structs.replace(self.work, **work), **own)


def name_from(text: str) -> str:
    """
    A valid job name like the text: its last path part, lower case, other characters as dashes.
    """
    stem = PurePath(text).name.lower()
    name = re.sub(r"[^a-z0-9._-]+", "-", stem)[:80].strip("-._")
    return name or "job"
