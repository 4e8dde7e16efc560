"""
Record the fixtures of this folder from real Spark: `python tests/engines/spark/record.py [case ...]`; about 8 s each.

Belongs here: programs that fail in one known way each. Each becomes `fixtures/NAME.json`: what the process engine made
of the end, before anything of Spark was read, and the tails of both streams, verbatim but for folders and addresses.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from spark_lab import QUIET, SparkLab, order

from standfast.core.job.observation import Ended
from standfast.engines.spark import engine, translate

FIXTURES = Path(__file__).with_name("fixtures")
KEPT_CHARS = 24_000

SAY = "import os\nopen(os.environ['PIPE'], 'w').write('ready')\n"
FOREVER = SAY + "import time\nwhile True: time.sleep(1)\n"

WHILE_IT_RUNS = """
import threading, time
sc = spark.sparkContext
def later():
    told = sc.statusTracker()
    while not any(told.getStageInfo(s).numActiveTasks for s in told.getActiveStageIds()): time.sleep(0.1)
    {}
threading.Thread(target=later).start()
sc.parallelize(range(2), 2).map(lambda i: __import__('time').sleep(60)).count()
"""

PYTHON: dict[str, tuple[str, dict[str, Any]]] = {
    "success": ("print(spark.range(1000).selectExpr('sum(id)').first())\n", {}),
    "sql_unresolved_column": ("spark.range(3).select('nope').show()\n", {}),
    "sql_parse": ("spark.sql('selec 1')\n", {}),
    "sql_missing_table": ("spark.sql('select * from no_such_table')\n", {}),
    "sql_missing_path": ("spark.read.parquet('/no/such/path')\n", {}),
    "sql_divide_by_zero": ("spark.sql('select 1 / 0').show()\n", {}),
    "sql_cast": ("spark.sql(\"select cast('abc' as int)\").show()\n", {}),
    "sql_output_exists": ("spark.range(3).write.parquet('out')\nspark.range(3).write.parquet('out')\n", {}),
    "udf_exception": (
        "from pyspark.sql.functions import udf\n"
        "@udf('int')\ndef f(x): raise ValueError('shuffle timeout oom FetchFailed')\n"
        "spark.range(3).select(f('id')).show()\n",
        {},
    ),
    "udf_killed": (
        "from pyspark.sql.functions import udf\nimport os\n@udf('int')\ndef f(x): os.kill(os.getpid(), 9)\n"
        "spark.range(3).select(f('id')).show()\n",
        {},
    ),
    "user_words": (
        "raise RuntimeError('query timeout: shuffle fetch failed, java.lang.OutOfMemoryError, transient')\n",
        {},
    ),
    "sys_exit_3": ("import sys\nsys.exit(3)\n", {}),
    "sys_exit_52": ("import sys\nsys.exit(52)\n", {}),
    "os_exit_7": ("import os\nos._exit(7)\n", {}),
    "python_killed": ("import os\nos.kill(os.getpid(), 9)\n", {}),
    "python_terminated": ("import os\nos.kill(os.getpid(), 15)\nimport time\ntime.sleep(60)\n", {}),
    "oom_driver_collect": (
        "spark.range(12_000_000).selectExpr('id', 'repeat(cast(id as string), 20) s').collect()\n",
        {"driver_memory": "512m", "conf": {**QUIET, "spark.driver.maxResultSize": "0"}},
    ),
    "oom_driver_call": (
        "spark._jvm.java.nio.ByteBuffer.allocate(2_000_000_000)\n",
        {"driver_memory": "512m"},
    ),
    "oom_task": (
        'spark.range(0, 8, 1, 8).selectExpr("length(repeat(cast(id as string), 1500000000)) n").show()\n',
        {"driver_memory": "512m"},
    ),
    "result_too_large": (
        "spark.range(2_000_000).collect()\n",
        {"conf": {**QUIET, "spark.driver.maxResultSize": "1m"}},
    ),
    "python_memory_error": ("x = 'a' * (1 << 62)\n", {}),
    "unreachable_master": ("", {"master": "spark://127.0.0.1:9"}),
    "bad_conf": ("", {"conf": {**QUIET, "spark.network.timeout": "5s"}}),
    "unresolved_master": ("", {"master": "spark://no-such-host.invalid:7077"}),
    "bad_master": ("", {"master": "nonsense"}),
    "job_cancelled": (WHILE_IT_RUNS.format("sc.cancelAllJobs()"), {}),
    "context_stopped": (WHILE_IT_RUNS.format("sc._jsc.stop()"), {}),
    "missing_module": ("import no_such_module\n", {}),
    "mkdirs_failed": ("spark.range(3).write.parquet('/proc/nope/out')\n", {}),
    "rdd_exception": (
        "def f(x): raise RuntimeError('java.lang.OutOfMemoryError: shuffle FetchFailed timeout ExecutorLostFailure')\n"
        "spark.sparkContext.parallelize(range(2), 1).map(f).count()\n",
        {},
    ),
}


async def python_case(lab: SparkLab, name: str) -> str:
    """
    A script that fails by itself.
    """
    body, options = PYTHON[name]
    handle = f"sf-{name.replace('_', '-')}-1"
    await lab.run(order(lab.script(body), handle=handle, **options))
    return handle


def killed(number: int) -> Callable[[SparkLab, str], Any]:
    """
    A script whose JVM gets a signal from outside.
    """

    async def case(lab: SparkLab, name: str) -> str:
        handle = f"sf-{name.replace('_', '-')}-1"
        pipe = lab.pipe("pipe")
        await lab.launch(order(lab.script(FOREVER), handle=handle, env={"PIPE": str(pipe)}))
        await lab.heard(pipe)
        os.kill(lab.main_pid(handle), number)
        await lab.ended(handle)
        return handle

    return case


async def cancelled(lab: SparkLab, name: str) -> str:
    """
    A script that we stop.
    """
    handle = f"sf-{name}-1"
    pipe = lab.pipe("pipe")
    await lab.launch(order(lab.script(FOREVER), handle=handle, env={"PIPE": str(pipe)}))
    await lab.heard(pipe)
    await lab.engine.halt(handle, grace_s=10)
    await lab.ended(handle)
    return handle


JAVA = {
    "jar_success": "System.out.println(s.range(1000).count());",
    "jar_sql_error": 's.sql("select nope from range(3)").show();',
    "jar_divide_by_zero": 's.sql("select 1 / 0").show();',
    "jar_exception": 'throw new IllegalStateException("shuffle timeout oom");',
    "jar_exit_3": "System.exit(3);",
    "jar_oom": "java.util.List<long[]> l = new java.util.ArrayList<>(); while (true) l.add(new long[20_000_000]);",
    "jar_missing_class": "",
}


async def jar_case(lab: SparkLab, name: str) -> str:
    """
    A jar, compiled here against the installed Spark.
    """
    handle = f"sf-{name.replace('_', '-')}-1"
    jars = Path(next(iter(__import__("pyspark").__path__))) / "jars"
    source = lab.folder / "Lab.java"
    source.write_text(
        "import org.apache.spark.sql.SparkSession;\npublic class Lab { public static void main(String[] a) throws "
        "Exception {\n SparkSession s = SparkSession.builder().getOrCreate();\n " + JAVA[name] + "\n}}\n"
    )
    await asyncio.to_thread(
        subprocess.run, ["javac", "-cp", f"{jars}/*", "-d", str(lab.folder / "out"), str(source)], check=True
    )
    jar = lab.folder / "lab.jar"
    await asyncio.to_thread(subprocess.run, ["jar", "cf", str(jar), "-C", str(lab.folder / "out"), "."], check=True)
    main_class = "NoSuchClass" if name == "jar_missing_class" else "Lab"
    options = {"driver_memory": "512m"} if name == "jar_oom" else {}
    await lab.run(order(jar, handle=handle, main_class=main_class, **options))
    return handle


CASES: dict[str, Callable[[SparkLab, str], Any]] = {
    **dict.fromkeys(PYTHON, python_case),
    "jvm_killed": killed(signal.SIGKILL),
    "jvm_terminated": killed(signal.SIGTERM),
    "cancelled": cancelled,
    **dict.fromkeys(JAVA, jar_case),
}


def scrubbed(text: str, folder: Path) -> str:
    """
    Without the folders of the machine it was recorded on.
    """
    site = Path(next(iter(__import__("pyspark").__path__)))
    for place, name in (
        (folder, "/lab"),
        (site, "/opt/spark"),
        (Path(sys.prefix), "/opt/venv"),
        (Path(engine.__file__).parents[4], "/opt/standfast"),
    ):
        text = text.replace(str(place), name)
    text = re.sub(r"(?<![-\w.])(?!127\.0\.0\.1\b)\d{1,3}(\.\d{1,3}){3}\b", "192.0.2.1", text)
    text = re.sub(r"OS info Linux, [^,]+,", "OS info Linux, 6.1,", text)
    return re.sub(rf"\b{re.escape(os.uname().nodename)}\b", "host", text)


async def record(name: str) -> None:
    """
    Run one case, and write its fixture.
    """
    with tempfile.TemporaryDirectory(prefix="standfast-spark-") as place:
        folder = Path(place)
        lab = SparkLab(folder)
        await lab.engine.open(lambda handle: None)
        try:
            handle = await CASES[name](lab, name)
            raw = await untranslated(lab, handle)
            document = {
                "case": name,
                "ended": msgspec.to_builtins(raw),
                "stdout": lab.stream(handle, "stdout")[-KEPT_CHARS:],
                "stderr": lab.stream(handle, "stderr")[-KEPT_CHARS:],
            }
        finally:
            await lab.clean()
    text = scrubbed(json.dumps(document, indent=1, ensure_ascii=False), folder)
    (FIXTURES / f"{name}.json").write_text(text + "\n")
    receipts = [f.raw for f in raw.findings if f.source.startswith("receipt")]
    print(f"{name}: {raw.engine_status} {(receipts or ['no receipt'])[0][:400]}", flush=True)


async def untranslated(lab: SparkLab, handle: str) -> Ended:
    """
    The end as the process engine tells it.
    """
    kept = translate.sharpen
    translate.sharpen = lambda ended, output, rules: ended
    try:
        return await lab.ended(handle)
    finally:
        translate.sharpen = kept


if __name__ == "__main__":
    for chosen in sys.argv[1:] or CASES:
        try:
            asyncio.run(record(chosen))
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            print(f"{chosen}: NOT RECORDED {error!r}", flush=True)
