"""
The program of a Spark job: every wrong field is named, each by its own pointer.
"""

from __future__ import annotations

from typing import Any

import pytest

from standfast.core.failure import FailureClass
from standfast.core.job.spec import Resources, Spec
from standfast.core.retry import Mitigation, RetryPolicy
from standfast.engines.spark import program


def _wrong(main: str = "/jobs/main.py", *, spec: dict[str, Any] | None = None, **fields: Any) -> dict[str, str]:
    found = program.check(Spec(engine="spark", program={"main": main, **fields}, **(spec or {})))
    return {error.pointer: error.code for error in found}


def test_the_least_program_is_sound() -> None:
    """
    A main file is enough.
    """
    assert _wrong() == {}


def test_a_full_program_is_sound() -> None:
    """
    Every field at once.
    """
    wrong = _wrong(
        "hdfs:/jobs/report.jar",
        args=["--day", "2026-01-01"],
        main_class="org.example.Report",
        master="spark://master:7077",
        jars=["/jars/a.jar", "s3a://bucket/b.jar"],
        files=["/etc/report.conf#report.conf"],
        packages=["org.example:lib_2.13:1.0"],
        conf={"spark.sql.shuffle.partitions": 8, "spark.sql.ansi.enabled": True, "spark.app.name": "own"},
        driver_memory="2g",
        executor_memory="4096m",
        spark_home="/opt/spark",
        python="/usr/bin/python3",
        env={"REPORT_LEVEL": "1"},
        cwd="/tmp",
        spec={"resources": Resources(memory_mib=2048, cpus=2.5)},
    )
    assert wrong == {}


@pytest.mark.parametrize(
    "fields, pointer, code",
    [
        ({"main": "main.py"}, "/main", "malformed"),
        ({"main": "s3a://bucket/main.py"}, "/main", "malformed"),
        ({"main": "/jobs/main.R"}, "/main", "malformed"),
        ({"main": "jobs/a.jar"}, "/main", "malformed"),
        ({"main_class": "X"}, "/main_class", "malformed"),
        ({"master": "-x"}, "/master", "malformed"),
        ({"master": ""}, "/master", "malformed"),
        ({"deploy_mode": "cluster"}, "/deploy_mode", "unsupported"),
        ({"spark_home": "opt"}, "/spark_home", "malformed"),
        ({"jars": ["/a.jar", "b.jar"]}, "/jars/1", "malformed"),
        ({"py_files": ["/a.py,/b.py"]}, "/py_files/0", "malformed"),
        ({"packages": ["org.example:lib"]}, "/packages/0", "malformed"),
        ({"conf": {"spark.master": "yarn"}}, "/conf/spark.master", "reserved"),
        ({"conf": {"spark.standfast.handle": "x"}}, "/conf/spark.standfast.handle", "reserved"),
        ({"conf": {"spark.driver.supervise": True}}, "/conf/spark.driver.supervise", "reserved"),
        ({"conf": {"hive.x": "1"}}, "/conf/hive.x", "malformed"),
        ({"conf": {"spark.a/b~c": "\0"}}, "/conf/spark.a~1b~0c", "malformed"),
        ({"conf": {"spark.x": ["a"]}}, "/conf/*", "malformed"),
        ({"driver_memory": "2048"}, "/driver_memory", "malformed"),
        ({"driver_memory": "256m"}, "/driver_memory", "out_of_range"),
        ({"executor_memory": "lots"}, "/executor_memory", "malformed"),
        ({"env": {"SPARK_HOME": "/x"}}, "/env/SPARK_HOME", "reserved"),
        ({"env": {"STANDFAST_JOB": "x"}}, "/env/STANDFAST_JOB", "reserved"),
        ({"args": ["ok", "a\0b"]}, "/args/1", "malformed"),
        ({"cwd": "here"}, "/cwd", "malformed"),
        ({"argv": ["spark-submit"]}, "", "malformed"),
        ({"args": "text"}, "/args", "malformed"),
        ({"jars": [1]}, "/jars/0", "malformed"),
    ],
)
def test_a_wrong_field_is_named(fields: dict[str, Any], pointer: str, code: str) -> None:
    """
    One wrong field gives one error, at its own pointer.
    """
    main = fields.pop("main", "/jobs/main.py")
    assert _wrong(main, **fields) == {f"/spec/program{pointer}": code}


def test_a_main_file_is_required() -> None:
    """
    Without it there is nothing to run.
    """
    assert [error.pointer for error in program.check(Spec(engine="spark"))] == ["/spec/program"]


def test_a_heap_that_spark_refuses_is_refused_here() -> None:
    """
    Said once, though driver and executors would both have it.
    """
    assert _wrong(spec={"resources": Resources(memory_mib=300)}) == {"/spec/resources/memory_mib": "out_of_range"}


def test_a_mitigation_needs_a_memory_to_raise() -> None:
    """
    Otherwise the second attempt would be the first again.
    """
    retry = RetryPolicy(max_attempts=2, mitigate={FailureClass.OUT_OF_MEMORY: Mitigation()})
    assert _wrong(driver_memory="1g", spec={"retry": retry}) == {"/spec/resources/memory_mib": "required"}
    assert _wrong(driver_memory="1g", spec={"retry": retry, "resources": Resources(memory_mib=1024)}) == {}


@pytest.mark.parametrize(
    "text, mib",
    [("512m", 512), ("2g", 2048), ("1T", 1048576), ("524288k", 512), ("2gb", 2048), ("2", None), ("", None)],
)
def test_memory_is_read_as_spark_reads_it(text: str, mib: int | None) -> None:
    """
    With a unit, always: Spark takes a bare number for MiB here and for bytes there.
    """
    assert program.memory_mib(text) == mib
