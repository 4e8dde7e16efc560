"""
What a job says to the Spark engine: its program, and everything that can be wrong with it.

Belongs here: the shape of `spec.program` for engine `spark`, its bounds, the keys that users may not set. Not here: the
command line that comes of it (`client`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from standfast.core.errors import FieldError, field_error
from standfast.core.failure import FailureClass
from standfast.core.job.spec import Spec
from standfast.engines.process import program as process_program

HEAP_MIB_MIN = 512
"""Smallest driver heap. Source: Spark 4.3 UnifiedMemoryManager refuses heaps below 450 MiB (INVALID_DRIVER_MEMORY)."""

PREFIX = "spark.standfast."
"""Of the private configuration keys that carry our identity; user code may rename its application, not these."""

RESERVED: Mapping[str, str] = {
    "spark.master": "set it by program.master",
    "spark.submit.deployMode": "set it by program.deploy_mode",
    "spark.driver.memory": "set it by program.driver_memory or resources.memory_mib; a mitigation raises those",
    "spark.executor.memory": "set it by program.executor_memory or resources.memory_mib; a mitigation raises those",
    "spark.jars": "set it by program.jars",
    "spark.jars.packages": "set it by program.packages",
    "spark.files": "set it by program.files",
    "spark.submit.pyFiles": "set it by program.py_files",
    "spark.pyspark.python": "set it by program.python",
    "spark.pyspark.driver.python": "set it by program.python",
    "spark.driver.supervise": "Spark would start the attempt again behind our back; use spec.retry",
}
"""Configuration keys that users may not set, and what to do instead."""

RESERVED_ENV: Mapping[str, str] = {
    "SPARK_HOME": "set it by program.spark_home",
    "PYSPARK_PYTHON": "set it by program.python",
    "PYSPARK_DRIVER_PYTHON": "set it by program.python",
    "PYSPARK_SUBMIT_ARGS": "it would contradict the rest of the program",
}

_MASTER = re.compile(r"[A-Za-z][^\s]*")
_PACKAGE = re.compile(r"[^\s:,]+:[^\s:,]+:[^\s:,]+")
_MEMORY = re.compile(r"([1-9]\d*)([kmgt])b?", re.IGNORECASE)
_KIB = {"k": 1, "m": 1024, "g": 1024**2, "t": 1024**3}
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


class Program(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    One Spark application.

    main: a `.py` file (absolute, local; it runs under our runner and leaves a receipt) or a `.jar` (absolute or a URI;
    its exit status decides). args: its arguments. main_class: of a jar. master: None: `local[cpus]`, or `local[*]`
    when `resources.cpus` is not given. deploy_mode: only `client`. jars, py_files, files: absolute or URIs. packages:
    `group:artifact:version`. conf: `spark.*` keys. driver_memory, executor_memory: with unit, as `2g`; None: what
    `resources.memory_mib` says; a mitigation raises them in the same proportion. spark_home: None: SPARK_HOME of the
    control plane, else the installed pyspark, else spark-submit on PATH. python: for driver and workers. env: added to
    the few inherited variables. cwd: absolute; None: the attempt's own folder.
    """

    main: str
    args: tuple[str, ...] = ()
    main_class: str | None = None
    master: str | None = None
    deploy_mode: str = "client"
    jars: tuple[str, ...] = ()
    py_files: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    conf: Mapping[str, str | bool | int | float] = {}
    driver_memory: str | None = None
    executor_memory: str | None = None
    spark_home: str | None = None
    python: str | None = None
    env: Mapping[str, str] = {}
    cwd: str | None = None

    @property
    def is_python(self) -> bool:
        """
        Whether the main file runs under our runner.
        """
        return self.main.endswith(".py")


def parse(spec: Spec) -> Program | FieldError:
    """
    The program, or the first field that does not fit its shape.
    """
    try:
        return msgspec.convert(spec.program, Program)
    except msgspec.ValidationError as error:
        return field_error(error, at="/spec/program")


def check(spec: Spec) -> list[FieldError]:
    """
    Everything wrong with the program, each with its pointer into the request; asks neither disk nor network.
    """
    program = parse(spec)
    if isinstance(program, FieldError):
        return [program]
    return [
        *_main(program),
        *_places(program),
        *_conf(program),
        *_memory(program, spec),
        *_environment(program, spec),
    ]


def memory_mib(text: str) -> int | None:
    """
    Spark's `512m` or `2g` in MiB, rounded down; None when it is no such text or has no unit.
    """
    found = _MEMORY.fullmatch(text)
    return None if found is None else int(found[1]) * _KIB[found[2].lower()] // 1024


def is_uri(place: str) -> bool:
    """
    Whether a file is named by scheme (`hdfs:`, `s3a:`, `local:`), so that only Spark can tell whether it is there.
    """
    return _URI.match(place) is not None


def plain(value: str | bool | int | float) -> str:
    """
    A configuration value as Spark reads it.
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def is_local(master: str) -> bool:
    """
    Whether executors live inside the driver, so that the driver's heap is all the memory there is.
    """
    return master == "local" or master.startswith("local[")


def _wrong(pointer: str, message: str, code: str = "malformed") -> FieldError:
    return FieldError(f"/spec/program{pointer}", code, message)


def _key(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _main(program: Program) -> list[FieldError]:
    wrong: list[FieldError] = []
    if program.is_python:
        if not program.main.startswith("/"):
            message = "a Python main file must be an absolute local path; remote modules go into py_files"
            wrong.append(_wrong("/main", message))
        if program.main_class is not None:
            wrong.append(_wrong("/main_class", "goes with a jar, not with a Python file"))
    elif program.main.endswith(".jar"):
        if not program.main.startswith("/") and not is_uri(program.main):
            wrong.append(_wrong("/main", "must be an absolute path or a URI"))
    else:
        wrong.append(_wrong("/main", "must end in .py or .jar"))
    if program.master is not None and not _MASTER.fullmatch(program.master):
        wrong.append(_wrong("/master", "is no master: local[2], spark://host:7077, yarn, k8s://https://host:6443"))
    if program.deploy_mode != "client":
        message = (
            "only `client` is supported: in cluster mode spark-submit's end says nothing about the driver, "
            "and killing it leaves the driver running"
        )
        wrong.append(_wrong("/deploy_mode", message, "unsupported"))
    if program.spark_home is not None and not program.spark_home.startswith("/"):
        wrong.append(_wrong("/spark_home", "must be absolute"))
    return wrong


def _places(program: Program) -> list[FieldError]:
    wrong = [
        _wrong(f"/{name}/{index}", "must be an absolute path or a URI, without a comma")
        for name in ("jars", "py_files", "files")
        for index, place in enumerate(getattr(program, name))
        if "," in place or not (place.startswith("/") or is_uri(place))
    ]
    wrong += [
        _wrong(f"/packages/{index}", "must be group:artifact:version")
        for index, package in enumerate(program.packages)
        if not _PACKAGE.fullmatch(package)
    ]
    return wrong


def _conf(program: Program) -> list[FieldError]:
    wrong: list[FieldError] = []
    for name in program.conf:
        pointer = f"/conf/{_key(name)}"
        if name.startswith(PREFIX):
            wrong.append(_wrong(pointer, f"names beginning with {PREFIX} are ours", "reserved"))
        elif name in RESERVED:
            wrong.append(_wrong(pointer, RESERVED[name], "reserved"))
        elif not name.startswith("spark.") or "=" in name or name != name.strip():
            wrong.append(_wrong(pointer, "must begin with spark. and hold no =; Spark drops any other key"))
    return wrong


def _memory(program: Program, spec: Spec) -> list[FieldError]:
    wrong: list[FieldError] = []
    asked = spec.resources.memory_mib
    for name in ("driver_memory", "executor_memory"):
        text = getattr(program, name)
        mib = asked if text is None else memory_mib(text)
        pointer = "/spec/resources/memory_mib" if text is None else f"/spec/program/{name}"
        if text is not None and mib is None:
            wrong.append(FieldError(pointer, "malformed", "must be a number with a unit, as 512m or 2g"))
        elif mib is not None and mib < HEAP_MIB_MIN and not any(w.pointer == pointer for w in wrong):
            wrong.append(FieldError(pointer, "out_of_range", f"Spark needs a heap of at least {HEAP_MIB_MIN} MiB"))
    if asked is None and FailureClass.OUT_OF_MEMORY in spec.retry.mitigate:
        message = "is what the mitigation of out_of_memory raises; without it nothing would change"
        wrong.append(FieldError("/spec/resources/memory_mib", "required", message))
    return wrong


def _environment(program: Program, spec: Spec) -> list[FieldError]:
    """
    Variables, folder and sizes, by the process engine's own check.
    """
    words = [("/args/" + str(index), word) for index, word in enumerate(program.args)]
    words += [(f"/conf/{_key(name)}", f"{name}={plain(value)}") for name, value in program.conf.items()]
    command: dict[str, Any] = {
        "argv": ["spark-submit", *(word for _, word in words)],
        "env": dict(program.env),
        "cwd": program.cwd,
    }
    wrong = [
        _wrong(f"/env/{name}", message, "reserved") for name, message in RESERVED_ENV.items() if name in program.env
    ]
    for found in process_program.check(msgspec.structs.replace(spec, program=command)):
        _, is_word, index = found.pointer.partition("/argv/")
        pointer = f"/spec/program{words[int(index) - 1][0]}" if is_word else found.pointer
        wrong.append(FieldError(pointer, found.code, found.message))
    return wrong
