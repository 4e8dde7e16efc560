"""
The spark-submit command line: the same for the same order, never a shell, and every mitigation in it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from spark_lab import SparkLab, order

from standfast.core.job.observation import Absent, Ended, Present, Refused
from standfast.core.job.spec import Resources, Spec
from standfast.engines.process import program as process_program
from standfast.engines.spark import client, program
from standfast.engines.spark.client import Installation
from standfast.ports.engine import Order

FOUND = Installation("/opt/spark/bin/spark-submit", "/opt/spark", "/usr/bin/python3")


def _order(resources: Resources | None = None, *, now: Resources | None = None, **fields: Any) -> Order:
    spec = Spec(engine="spark", program=fields, resources=resources or Resources())
    return Order(
        handle="sf-01J-2",
        uid="job_01J",
        namespace="default",
        name="report",
        attempt=2,
        spec=spec,
        resources=now or spec.resources,
    )


def _parsed(given: Order) -> program.Program:
    parsed = program.parse(given.spec)
    assert isinstance(parsed, program.Program)
    return parsed


def _argv(given: Order) -> list[str]:
    return list(client.arguments(given, _parsed(given)))


def _value(argv: list[str], flag: str) -> str | None:
    return argv[argv.index(flag) + 1] if flag in argv else None


def test_a_python_file_on_this_machine() -> None:
    """
    The whole command line, word for word: our runner is the main file, the script its first argument.
    """
    given = _order(Resources(memory_mib=2048, cpus=1.5), main="/jobs/report.py", args=["--day", "a b; rm -rf /"])
    assert _argv(given) == [
        *("--master", "local[2]", "--deploy-mode", "client", "--name", "report", "--driver-memory", "2048m"),
        *("--conf", "spark.standfast.attempt=2"),
        *("--conf", "spark.standfast.handle=sf-01J-2"),
        *("--conf", "spark.standfast.job=job_01J"),
        *("--conf", "spark.ui.port=0"),
        *(str(process_program.DRIVER), "/jobs/report.py", "--day", "a b; rm -rf /"),
    ]


def test_a_jar_on_a_cluster() -> None:
    """
    The whole command line, word for word; executors get memory of their own.
    """
    given = _order(
        Resources(memory_mib=1024),
        main="hdfs:/jobs/report.jar",
        args=["x"],
        main_class="org.example.Report",
        master="spark://master:7077",
        jars=["/a.jar", "/b.jar"],
        py_files=["/c.zip"],
        files=["/d.conf"],
        packages=["org.example:lib:1.0", "org.example:other:2.0"],
        conf={"spark.app.name": "own", "spark.ui.port": 4040, "spark.sql.ansi.enabled": False},
    )
    assert _argv(given) == [
        *("--master", "spark://master:7077", "--deploy-mode", "client"),
        *("--driver-memory", "1024m", "--executor-memory", "1024m", "--class", "org.example.Report"),
        *("--jars", "/a.jar,/b.jar", "--py-files", "/c.zip", "--files", "/d.conf"),
        *("--packages", "org.example:lib:1.0,org.example:other:2.0"),
        *("--conf", "spark.app.name=own"),
        *("--conf", "spark.sql.ansi.enabled=false"),
        *("--conf", "spark.standfast.attempt=2"),
        *("--conf", "spark.standfast.handle=sf-01J-2"),
        *("--conf", "spark.standfast.job=job_01J"),
        *("--conf", "spark.ui.port=4040"),
        *("hdfs:/jobs/report.jar", "x"),
    ]


def test_a_mitigation_changes_the_memory() -> None:
    """
    Twice `resources.memory_mib` is twice whatever the program names, for driver and executors.
    """
    twice = Resources(memory_mib=2048)
    argv = _argv(_order(Resources(memory_mib=1024), now=twice, main="/a.py", master="yarn"))
    assert (_value(argv, "--driver-memory"), _value(argv, "--executor-memory")) == ("2048m", "2048m")
    named = {"driver_memory": "1g", "executor_memory": "3g", "main": "/a.py", "master": "yarn"}
    argv = _argv(_order(Resources(memory_mib=1024), now=twice, **named))
    assert (_value(argv, "--driver-memory"), _value(argv, "--executor-memory")) == ("2048m", "6144m")


def test_memory_that_nobody_named_is_left_to_spark() -> None:
    """
    No flag at all.
    """
    argv = _argv(_order(main="/a.py", master="yarn"))
    assert _value(argv, "--driver-memory") is None
    assert _value(argv, "--executor-memory") is None


def test_a_cluster_manager_can_be_searched_for_us() -> None:
    """
    YARN by tag, lower case as it compares, beside the user's own; Kubernetes by labels.
    """
    yarn = _argv(_order(main="/a.py", master="yarn", conf={"spark.yarn.tags": "team"}))
    assert "spark.yarn.tags=team,standfast-sf-01j-2" in yarn
    kubernetes = _argv(_order(main="/a.py", master="k8s://https://host:6443"))
    assert "spark.kubernetes.driver.label.standfast-handle=sf-01J-2" in kubernetes
    assert "spark.kubernetes.executor.label.standfast-job=job_01J" in kubernetes
    assert not [word for word in _argv(_order(main="/a.py")) if "yarn" in word or "kubernetes" in word]


def test_the_driver_knows_its_attempt(tmp_path: Path) -> None:
    """
    The environment has the handle, the site's variables and the user's, and nothing else of the control plane.
    """
    given = _order(main="/a.py", env={"LEVEL": "1", "SPARK_LOCAL_IP": "127.0.0.1"})
    base = {"PATH": "/bin", "JAVA_HOME": "/opt/java", "SPARK_LOCAL_IP": "192.0.2.1", "DATABASE_PASSWORD": "x"}
    made = client.command(given, _parsed(given), FOUND, run_directory=tmp_path, base=base)
    assert made.argv[0] == "/opt/spark/bin/spark-submit"
    assert "DATABASE_PASSWORD" not in made.env
    expected = {
        "STANDFAST_ATTEMPT_ID": "sf-01J-2",
        "STANDFAST_ATTEMPT": "2",
        "STANDFAST_RECEIPT": str(tmp_path / "receipt.json"),
        "SPARK_HOME": "/opt/spark",
        "PYSPARK_PYTHON": "/usr/bin/python3",
        "PYSPARK_DRIVER_PYTHON": "/usr/bin/python3",
        "JAVA_HOME": "/opt/java",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "LEVEL": "1",
    }
    assert {name: made.env.get(name) for name in expected} == expected


def _submit(home: Path) -> Path:
    submit = home / "bin" / "spark-submit"
    submit.parent.mkdir(parents=True)
    submit.write_text("#!/bin/sh\n")
    submit.chmod(0o755)
    return submit


def test_which_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The program's, else the control plane's SPARK_HOME, else the installed pyspark, else PATH, else none.
    """
    submit = _submit(tmp_path)
    plain = program.Program(main="/a.py")
    named = program.Program(main="/a.py", spark_home="/named", python="/my/python")
    path = {"PATH": str(submit.parent)}
    assert client.find(named, {"SPARK_HOME": "/env"}) == Installation("/named/bin/spark-submit", "/named", "/my/python")
    assert client.find(plain, {"SPARK_HOME": "/env"}) == Installation("/env/bin/spark-submit", "/env", "python3")
    installed = client.find(plain, path)
    assert installed.home is not None
    assert Path(installed.submit).is_file()
    assert installed.python == sys.executable
    monkeypatch.setattr(client, "_installed", lambda: None)
    assert client.find(plain, path) == Installation(str(submit), None, "python3")
    assert client.find(plain, {"PATH": "/nowhere"}) == client.NOT_FOUND


@pytest.mark.parametrize("without", ["spark", "java", "python", "main", "jars"])
def test_what_is_missing_is_said(tmp_path: Path, without: str) -> None:
    """
    Each in a sentence that names it and what to do.
    """
    submit, main, java = _submit(tmp_path), tmp_path / "a.py", tmp_path / "java" / "bin" / "java"
    main.touch()
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    gone = "/no/such/place"
    fields: dict[str, Any] = {"main": str(main), "python": sys.executable, "jars": ["s3a://bucket/x.jar"]}
    fields |= {"main": {"main": f"{gone}.py"}, "jars": {"jars": [gone]}, "python": {"python": gone}}.get(without, {})
    home = gone if without == "spark" else str(submit.parent.parent)
    given = _order(**fields, spark_home=home)
    base = {"PATH": "/nowhere", "JAVA_HOME": gone if without == "java" else str(tmp_path / "java")}
    made = client.command(given, _parsed(given), client.find(_parsed(given), base), run_directory=tmp_path, base=base)
    reason = client.missing(_parsed(given), made)
    assert reason is not None
    assert gone in reason
    words = {"spark": "no spark-submit", "java": "no Java", "python": "no Python", "main": "no main", "jars": "no jars"}
    assert reason.startswith(words[without])


async def test_a_refusal_spends_the_handle(lab: SparkLab) -> None:
    """
    Nothing ran, nothing ever will under this handle, and the reason is a sentence; not a crash, not a retry.
    """
    given = order("/no/such/main.py")
    refused = await lab.launch(given)
    assert isinstance(refused, Refused)
    failure = refused.failure
    assert (failure.failure_class, failure.code, failure.retryable, failure.free) == (
        *("submission_refused", "preflight", False),
        True,
    )
    assert failure.message == "no main file: /no/such/main.py is not there"
    look = (await lab.engine.look([given.handle]))[given.handle]
    assert isinstance(look, Absent)
    assert look.final
    assert isinstance(await lab.launch(given), Refused)


async def test_a_refusal_does_not_deny_what_runs(lab: SparkLab, tmp_path: Path) -> None:
    """
    A replayed launch whose main file is gone by now finds the attempt that began while it was there.
    """
    home = tmp_path / "spark"
    pipe = lab.pipe("pipe")
    _submit(home).write_text(f"#!/bin/sh\nread word < {pipe}\n")
    main = lab.script("")
    given = order(main, spark_home=str(home))
    assert isinstance(await lab.launch(given), Present)
    main.unlink()
    assert isinstance(await lab.launch(given), Present)
    pipe.write_text("go\n")
    ended = await lab.ended(given.handle)
    assert isinstance(ended, Ended)
    assert ended.engine_status == "exited 0"


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    """
    Neither in the argument list, nor in the line to copy, nor in the environment.
    """
    lab = SparkLab(tmp_path)
    conf = {"spark.hadoop.fs.s3a.secret.key": "hush", "spark.sql.ansi.enabled": "true"}
    shown = lab.engine.call(order("/a.py", conf=conf, env={"TOKEN": "hush"}))
    assert "hush" not in repr(shown)
    assert "spark.hadoop.fs.s3a.secret.key=***" in shown["command"]["argv"]
    assert "spark.sql.ansi.enabled=true" in shown["command"]["shell_equivalent"]
