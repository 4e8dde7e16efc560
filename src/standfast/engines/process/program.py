"""
What a job says to the process engine: its program, checked, and made into a command.

Belongs here: the shape of `spec.program` for engine `process`, its bounds, the environment a job gets. Not here: how a
command is started (`launcher`).
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from standfast.core.errors import FieldError, field_error
from standfast.core.job.spec import Spec
from standfast.engines.process import environment
from standfast.engines.process.launcher import Command
from standfast.ports.engine import Order

DRIVER = Path(__file__).with_name("driver.py")
"""Our runner: claims the attempt, runs a Python script as `__main__`, leaves a receipt."""

ARG_BYTES_MAX = 131_071
"""Longest single argument or variable. Source: execve(2), MAX_ARG_STRLEN of 32 pages, less the closing zero."""

ALL_BYTES_MAX = 1_900_000
"""Arguments and environment together. Source: execve(2), a quarter of the 8 MiB stack limit, with room to spare."""

MASK = "***"


class Program(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    A command, or a Python script under our runner.

    argv: the command, found through PATH, never through a shell. script, args: instead, a Python file that leaves a
    receipt. python: the interpreter for it. env: added to the few inherited variables. cwd: absolute; None: the
    attempt's own folder. memory_limit: `address_space` enforces `resources.memory_mib` by RLIMIT_AS (do not use it for
    a JVM). stragglers: what becomes of processes that outlive the main one. stop: who hears TERM first.
    """

    argv: tuple[str, ...] = ()
    script: str | None = None
    args: tuple[str, ...] = ()
    python: str = "python3"
    env: Mapping[str, str] = {}
    cwd: str | None = None
    umask: int = 0o022
    nice: int = 0
    cpu_s: int | None = None
    file_bytes_max: int | None = None
    open_files_max: int | None = None
    memory_limit: Literal["none", "address_space"] = "none"
    stragglers: Literal["kill", "wait"] = "kill"
    stop: Literal["tree", "main"] = "tree"


def check(spec: Spec) -> list[FieldError]:
    """
    Everything wrong with the program, each with its pointer into the request.
    """
    program = parse(spec)
    if isinstance(program, FieldError):
        return [program]
    wrong: list[FieldError] = []

    def demand(good: bool, pointer: str, message: str, code: str = "malformed") -> None:
        if not good:
            wrong.append(FieldError(f"/spec/program{pointer}", code, message))

    demand(bool(program.argv) != (program.script is not None), "", "needs either argv or script", "required")
    demand(not program.args or program.script is not None, "/args", "goes with script; put arguments into argv")
    demand(not program.argv or bool(program.argv[0]), "/argv/0", "is empty")
    for where, words in (("argv", program.argv), ("args", program.args)):
        for index, word in enumerate(words):
            demand(_fits(word), f"/{where}/{index}", "holds a NUL, or is longer than 128 KiB")
    for name, value in program.env.items():
        pointer = "/env/" + name.replace("~", "~0").replace("/", "~1")
        demand(bool(name) and "=" not in name and "\0" not in name, pointer, "is no name of a variable")
        demand(not name.startswith("STANDFAST_"), pointer, "names beginning with STANDFAST_ are ours", "reserved")
        demand(_fits(f"{name}={value}"), pointer, "holds a NUL, or is longer than 128 KiB")
    total = sum(len(os.fsencode(word)) + 9 for word in (*program.argv, *program.args))
    total += sum(len(os.fsencode(name + value)) + 10 for name, value in program.env.items())
    demand(total <= ALL_BYTES_MAX, "", "arguments and environment are larger than the system takes", "too_large")
    demand(program.cwd is None or program.cwd.startswith("/"), "/cwd", "must be absolute")
    demand(0 <= program.umask <= 0o777, "/umask", "must be 0..511", "out_of_range")
    demand(-20 <= program.nice <= 19, "/nice", "must be -20..19", "out_of_range")
    for name in ("cpu_s", "file_bytes_max", "open_files_max"):
        limit = getattr(program, name)
        demand(limit is None or limit > 0, f"/{name}", "must be more than 0", "out_of_range")
    enforced = program.memory_limit == "none" or spec.resources.memory_mib is not None
    demand(enforced, "/memory_limit", "needs resources.memory_mib", "required")
    return wrong


def parse(spec: Spec) -> Program | FieldError:
    """
    The program, or the first field that does not fit its shape.
    """
    try:
        return msgspec.convert(spec.program, Program)
    except msgspec.ValidationError as error:
        return field_error(error, at="/spec/program")


def command(order: Order, program: Program, *, run_directory: Path, base: Mapping[str, str]) -> Command:
    """
    The command of one attempt; the same order always gives the same one.

    base: the control plane's own environment, of which only a short allow-list is passed on.
    """
    argv = program.argv
    if program.script is not None:
        argv = (program.python, str(DRIVER), program.script, *program.args)
    rlimits: dict[str, tuple[int, int]] = {"core": (0, 0)}
    if program.cpu_s is not None:
        rlimits["cpu"] = (program.cpu_s, program.cpu_s + 5)
    if program.file_bytes_max is not None:
        rlimits["fsize"] = (program.file_bytes_max, program.file_bytes_max)
    if program.open_files_max is not None:
        rlimits["nofile"] = (program.open_files_max, program.open_files_max)
    if program.memory_limit == "address_space" and order.resources.memory_mib is not None:
        rlimits["as"] = (order.resources.memory_mib << 20, order.resources.memory_mib << 20)
    told = {"STANDFAST_JOB_NAME": order.name, "STANDFAST_NAMESPACE": order.namespace}
    if order.resources.memory_mib is not None:
        told["STANDFAST_MEMORY_MIB"] = str(order.resources.memory_mib)
    env = environment.build(
        run_directory,
        order.handle,
        {"PATH": os.defpath, **told, **program.env} if "PATH" not in base else {**told, **program.env},
        base=base,
        job=order.uid,
        attempt=order.attempt,
        fence=order.attempt,
        stop_grace_s=order.spec.stop_grace_s,
    )
    return Command(
        argv=argv,
        env=env,
        cwd=program.cwd,
        umask=program.umask,
        nice=program.nice,
        rlimits=rlimits,
        stop_grace_s=order.spec.stop_grace_s,
        stop_scope=program.stop,
        stragglers=program.stragglers,
    )


def shown(made: Command) -> dict[str, Any]:
    """
    The command as plain JSON for people: values of the environment masked but for our own, since they may be secret.
    """
    plain = msgspec.to_builtins(made)
    assert isinstance(plain, dict)
    plain["env"] = {
        name: value if name in environment.ALLOWED or name.startswith("STANDFAST_") else MASK
        for name, value in made.env.items()
    }
    plain["shell_equivalent"] = shlex.join(made.argv)
    return plain


def _fits(word: str) -> bool:
    return "\0" not in word and len(os.fsencode(word)) <= ARG_BYTES_MAX
