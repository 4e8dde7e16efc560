"""
How Spark is spoken to: which spark-submit, with which arguments, in which environment; never through a shell.

Belongs here: finding an installation, the argument list, what must be there before a launch. Not here: starting it.
"""

from __future__ import annotations

import math
import re
import shutil
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import msgspec

from standfast.engines.process import program as process_program
from standfast.engines.process.launcher import Command
from standfast.engines.spark.program import PREFIX, Program, is_local, is_uri, memory_mib, plain
from standfast.ports.engine import Order

SITE = ("JAVA_HOME", "SPARK_CONF_DIR", "SPARK_LOCAL_DIRS", "SPARK_LOCAL_IP", "HADOOP_CONF_DIR", "YARN_CONF_DIR")
"""Variables of the control plane that say where things are on this machine, and so are passed on."""

REDACTED = re.compile(r"secret|password|token|access[.]?key", re.IGNORECASE)
"""Keys whose values are not shown. Source: the default of Spark's own spark.redaction.regex."""


class Installation(msgspec.Struct, frozen=True):
    """
    One Spark: its spark-submit, its home (None: spark-submit finds it by itself), the Python that goes with it.
    """

    submit: str
    home: str | None
    python: str


NOT_FOUND = Installation("spark-submit", None, "python3")
"""Stands for what was not found, so that a call can be shown all the same; `missing` refuses it."""


def find(program: Program, base: Mapping[str, str]) -> Installation:
    """
    The Spark that the program names, else the control plane's SPARK_HOME, the installed pyspark, the one on PATH.

    base: the control plane's environment. A home that is named but holds no spark-submit is not replaced by another.
    """
    named = program.spark_home or base.get("SPARK_HOME")
    if named:
        return Installation(f"{named}/bin/spark-submit", named, program.python or "python3")
    home = _installed()
    if home is not None:
        # Its Python is ours: the workers then have the packages that were installed beside it.
        return Installation(str(home / "bin" / "spark-submit"), str(home), program.python or sys.executable)
    submit = shutil.which("spark-submit", path=base.get("PATH"))
    if submit is None:
        return msgspec.structs.replace(NOT_FOUND, python=program.python or NOT_FOUND.python)
    return Installation(submit, None, program.python or NOT_FOUND.python)


def _installed() -> Path | None:
    """
    The home inside the installed pyspark, without importing it.
    """
    try:
        found = find_spec("pyspark")
    except (ImportError, ValueError):
        return None
    places = list(found.submodule_search_locations or ()) if found else []
    homes = (Path(place) for place in places)
    return next((home for home in homes if (home / "bin" / "spark-submit").is_file()), None)


def master_of(order: Order, program: Program) -> str:
    """
    The master, by default this machine with as many threads as CPUs were asked for.
    """
    if program.master is not None:
        return program.master
    return f"local[{math.ceil(order.resources.cpus)}]" if order.resources.cpus else "local[*]"


def memories(order: Order, program: Program, master: str) -> tuple[str | None, str | None]:
    """
    Driver and executor memory of this attempt as Spark reads it; None leaves it to Spark.

    What the program names grows in the proportion in which a mitigation has grown `resources.memory_mib`. With a local
    master there is but one heap, the driver's.
    """
    first, now = order.spec.resources.memory_mib, order.resources.memory_mib
    factor = now / first if first and now else 1.0

    def sized(named: str | None) -> str | None:
        own = memory_mib(named) if named else None
        mib = now if own is None else int(own * factor)
        return None if mib is None else f"{mib}m"

    return sized(program.driver_memory), None if is_local(master) else sized(program.executor_memory)


def arguments(order: Order, program: Program) -> tuple[str, ...]:
    """
    What follows `spark-submit`; the same order always gives the same list.
    """
    master = master_of(order, program)
    driver_memory, executor_memory = memories(order, program, master)
    argv = ["--master", master, "--deploy-mode", "client"]
    if "spark.app.name" not in program.conf:
        argv += ["--name", order.name]
    if driver_memory is not None:
        argv += ["--driver-memory", driver_memory]
    if executor_memory is not None:
        argv += ["--executor-memory", executor_memory]
    if program.main_class is not None:
        argv += ["--class", program.main_class]
    for flag, places in (
        ("--jars", program.jars),
        ("--py-files", program.py_files),
        ("--files", program.files),
        ("--packages", program.packages),
    ):
        if places:
            argv += [flag, ",".join(places)]
    for key, value in sorted(_conf(order, program, master).items()):
        argv += ["--conf", f"{key}={value}"]
    if program.is_python:
        argv += [str(process_program.DRIVER)]
    return (*argv, program.main, *program.args)


def _conf(order: Order, program: Program, master: str) -> dict[str, str]:
    """
    The user's configuration, and ours: identity in private keys and in what the cluster manager can be searched by.
    """
    conf = {key: plain(value) for key, value in program.conf.items()}
    if "spark.ui.port" not in conf:
        # Spark tries 4040 and the 16 ports above it, then the driver dies: not for many drivers on one machine.
        conf["spark.ui.port"] = "0"
    identity = {"job": order.uid, "attempt": str(order.attempt), "handle": order.handle}
    conf |= {PREFIX + name: value for name, value in identity.items()}
    if master.startswith("yarn"):
        # YARN lowers the case of tags itself, and then compares with it.
        tags = [conf["spark.yarn.tags"]] if conf.get("spark.yarn.tags") else []
        conf["spark.yarn.tags"] = ",".join([*tags, f"standfast-{order.handle}".lower()])
    if master.startswith("k8s://"):
        for role in ("driver", "executor"):
            for name, value in identity.items():
                conf[f"spark.kubernetes.{role}.label.standfast-{name}"] = value
    return conf


def command(
    order: Order, program: Program, found: Installation, *, run_directory: Path, base: Mapping[str, str]
) -> Command:
    """
    The command that a keeper runs.
    """
    env = {name: base[name] for name in SITE if name in base}
    if found.home is not None:
        env["SPARK_HOME"] = found.home
    env |= {"PYSPARK_PYTHON": found.python, "PYSPARK_DRIVER_PYTHON": found.python}
    plain_program = process_program.Program(
        argv=(found.submit, *arguments(order, program)),
        env=env | dict(program.env),
        cwd=program.cwd,
    )
    return process_program.command(order, plain_program, run_directory=run_directory, base=base)


def missing(program: Program, made: Command) -> str | None:
    """
    What is not on this machine though the command needs it, in one sentence; None when all of it is there.
    """
    path = made.env.get("PATH")
    if shutil.which(made.argv[0], path=path) is None:
        return f"no spark-submit: {made.argv[0]} is not there; install pyspark, or set SPARK_HOME or program.spark_home"
    java = f"{made.env['JAVA_HOME']}/bin/java" if made.env.get("JAVA_HOME") else "java"
    if shutil.which(java, path=path) is None:
        return f"no Java: {java} is not there; install a JDK, or set JAVA_HOME"
    if program.is_python and shutil.which(made.env["PYSPARK_DRIVER_PYTHON"], path=path) is None:
        return f"no Python: {made.env['PYSPARK_DRIVER_PYTHON']} is not there; set program.python"
    for name, places in (
        ("main", (program.main,)),
        ("jars", program.jars),
        ("py_files", program.py_files),
        ("files", program.files),
    ):
        for place in places:
            # `files` may carry an alias: /path/file#name.
            if not is_uri(place) and not Path(place.partition("#")[0]).exists():
                return f"no {name} file: {place} is not there"
    return None


def masked(argv: tuple[str, ...]) -> tuple[str, ...]:
    """
    The command line for people: values of configuration keys that sound secret are not shown.
    """
    shown = list(argv)
    for index, flag in enumerate(argv[:-1]):
        key, _, _ = argv[index + 1].partition("=")
        if flag == "--conf" and REDACTED.search(key):
            shown[index + 1] = f"{key}={process_program.MASK}"
    return tuple(shown)
