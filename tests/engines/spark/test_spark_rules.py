"""
Spark's failure rules on what real Spark left behind: receipts, exit statuses and output of Spark 4.3.0.

The fixtures are written by `record.py`; a new Spark is judged by recording them anew.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from standfast.core.failure import Failure, FailureClass, Rule, Symptoms, classify
from standfast.core.job.evidence import Ending, Finding, Rank
from standfast.core.job.inputs import Admit, Due
from standfast.core.job.observation import Ended
from standfast.core.job.spec import Resources
from standfast.core.job.state import Job, Phase
from standfast.core.retry import Mitigation, RetryPolicy
from standfast.engines.spark.rules import RULES
from standfast.engines.spark.translate import Output, from_output, sharpen
from standfast.testing import builders

FIXTURES = Path(__file__).with_name("fixtures")
F = FailureClass


def _recorded(name: str) -> tuple[Ended, Output]:
    document: dict[str, Any] = json.loads((FIXTURES / f"{name}.json").read_text())
    return msgspec.convert(document["ended"], Ended), Output(document["stdout"], document["stderr"])


def _sharpened(name: str) -> Ended:
    ended, output = _recorded(name)
    return sharpen(ended, output, RULES)


def _strongest(ended: Ended) -> Finding:
    return max(ended.findings, key=lambda finding: finding.rank)


def _failure(name: str) -> Failure:
    failure = _strongest(_sharpened(name)).failure
    assert failure is not None
    return failure


def _lived(job: Job, *names: str) -> Job:
    """
    The job after each of its attempts ended as the fixtures tell, one after another.
    """
    for name in names:
        while job.phase is not Phase.RUNNING:
            job = _woken(job)
        # The builders' clock and life, in place of the recording's.
        now = job.updated_at
        ended = _sharpened(name)
        times: dict[str, datetime] = {"at": now, "started_at": now, "ended_at": now}
        job = builders.told(job, msgspec.structs.replace(ended, incarnation=builders.LIFE, **times))
    return job


def _woken(job: Job) -> Job:
    """
    One step nearer to running.
    """
    if job.phase is Phase.BACKING_OFF:
        assert job.backoff_s is not None
        return builders.told(job, Due(), every_s=job.backoff_s + 1)
    if job.phase is Phase.QUEUED:
        return builders.told(job, Admit(incarnation=builders.LIFE))
    assert job.phase is Phase.LAUNCHING, job.phase
    return builders.told(job, builders.present(job.updated_at))


# By fixture: how the engine saw it end, class, code, whether worth a retry, and a part of the line a person reads.
EXPECTED: dict[str, tuple[str, FailureClass, str, bool, str]] = {
    "sql_unresolved_column": ("exited 1", F.USER_ERROR, "sql", False, "[UNRESOLVED_COLUMN.WITH_SUGGESTION]"),
    "sql_parse": ("exited 1", F.USER_ERROR, "sql", False, "[PARSE_SYNTAX_ERROR]"),
    "sql_missing_table": ("exited 1", F.USER_ERROR, "input_missing", False, "`no_such_table` cannot be found"),
    "sql_missing_path": ("exited 1", F.USER_ERROR, "input_missing", False, "file:/no/such/path"),
    "sql_output_exists": ("exited 1", F.USER_ERROR, "output_exists", False, "already exists"),
    "sql_divide_by_zero": ("exited 1", F.USER_ERROR, "data", False, "[DIVIDE_BY_ZERO]"),
    "sql_cast": ("exited 1", F.USER_ERROR, "data", False, "[CAST_INVALID_INPUT]"),
    "udf_exception": ("exited 1", F.USER_ERROR, "code", False, "ValueError"),
    "udf_killed": ("exited 1", F.UNKNOWN, "python_worker_lost", True, "Python worker exited unexpectedly"),
    "user_words": ("exited 1", F.USER_ERROR, "exception", False, "RuntimeError: query timeout"),
    "missing_module": ("exited 1", F.USER_ERROR, "exception", False, "No module named 'no_such_module'"),
    "sys_exit_3": ("exited 3", F.USER_ERROR, "exit", False, "exit status 3"),
    "sys_exit_52": ("exited 52", F.USER_ERROR, "exit", False, "exit status 52"),
    "os_exit_7": ("exited 7", F.USER_ERROR, "exit", False, "exit status 7"),
    "result_too_large": ("exited 1", F.USER_ERROR, "result_too_large", False, "spark.driver.maxResultSize"),
    "oom_driver_collect": ("exited 52", F.OUT_OF_MEMORY, "oom.driver_heap", True, "OutOfMemoryError: Java heap space"),
    "oom_driver_call": ("exited 1", F.OUT_OF_MEMORY, "oom.driver_heap", True, "Java heap space"),
    "python_memory_error": ("exited 1", F.OUT_OF_MEMORY, "oom.python", True, "MemoryError"),
    "python_killed": ("exited 137", F.CANCELLED_OUTSIDE, "killed", True, "exit status 137"),
    "python_terminated": ("exited 143", F.CANCELLED_OUTSIDE, "killed", True, "exit status 143"),
    "jvm_terminated": ("exited 143", F.CANCELLED_OUTSIDE, "killed", True, "exit status 143"),
    "job_cancelled": ("exited 1", F.CANCELLED_OUTSIDE, "job_cancelled", False, "[SPARK_JOB_CANCELLED]"),
    "context_stopped": ("exited 1", F.UNKNOWN, "context_stopped", True, "SparkContext was shut down"),
    "unresolved_master": ("exited 1", F.ENGINE_UNREACHABLE, "master_unreachable", True, "masters are unresponsive"),
    "bad_master": ("exited 1", F.SUBMISSION_REFUSED, "master_malformed", False, "Master must either be yarn"),
    "bad_conf": ("exited 1", F.USER_ERROR, "conf", False, "spark.network.timeout"),
    "mkdirs_failed": ("exited 1", F.UNKNOWN, "spark_exception", False, "Mkdirs failed"),
    "rdd_exception": ("exited 1", F.USER_ERROR, "code", False, "PythonException"),
    "oom_task": ("exited 52", F.OUT_OF_MEMORY, "oom.driver_heap", True, "OutOfMemoryError"),
    "jar_sql_error": ("exited 1", F.USER_ERROR, "sql", False, "[UNRESOLVED_COLUMN.WITH_SUGGESTION]"),
    "jar_divide_by_zero": ("exited 1", F.USER_ERROR, "data", False, "[DIVIDE_BY_ZERO]"),
    "jar_exception": ("exited 1", F.USER_ERROR, "exit", False, "IllegalStateException: shuffle timeout oom"),
    "jar_exit_3": ("exited 3", F.USER_ERROR, "exit", False, "exit status 3"),
    "jar_oom": ("exited 1", F.OUT_OF_MEMORY, "oom.driver_heap", True, "Java heap space"),
    "jar_missing_class": ("exited 101", F.SUBMISSION_REFUSED, "class_missing", False, "NoSuchClass"),
    "jvm_killed": ("signaled 9", F.CANCELLED_OUTSIDE, "killed", True, "killed by signal 9"),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_what_real_spark_left_behind(name: str) -> None:
    """
    The strongest finding gets the class, the code and the word on retrying that the table promises.
    """
    status, failure_class, code, retryable, words = EXPECTED[name]
    failure = _failure(name)
    assert _sharpened(name).engine_status == status
    assert (failure.failure_class, failure.code, failure.retryable) == (failure_class, code, retryable)
    assert words in failure.message


def test_every_fixture_is_judged() -> None:
    """
    None is recorded and then forgotten.
    """
    recorded = {path.stem for path in FIXTURES.glob("*.json")}
    assert recorded == {*EXPECTED, "success", "jar_success", "cancelled"}


@pytest.mark.parametrize("name", ["success", "jar_success"])
def test_a_success_says_nothing_else(name: str) -> None:
    """
    Whatever was logged on the way; a jar has no receipt, and its exit status decides.
    """
    ended = _sharpened(name)
    assert _strongest(ended).ending is Ending.SUCCEEDED
    assert _strongest(ended).rank is (Rank.RECEIPT if name == "success" else Rank.EXIT_STATUS)
    assert all(finding.failure is None for finding in ended.findings)


def test_a_cancel_is_not_called_a_failure() -> None:
    """
    The receipt says terminated, the engine says that our request had reached it, and the job is cancelled.
    """
    ended = _sharpened("cancelled")
    assert ended.stopped
    assert ended.gone == "proven"
    assert (_strongest(ended).ending, _strongest(ended).failure) == (Ending.TERMINATED, None)


@pytest.mark.parametrize("name", [name for name, (_, _, _, retryable, _) in EXPECTED.items() if not retryable])
def test_what_the_program_did_wrong_is_not_tried_again(name: str) -> None:
    """
    One attempt though ten are allowed; also where the user's own words are timeout, shuffle, or OutOfMemoryError.
    """
    job = _lived(builders.job(Phase.RUNNING), name)
    assert (job.phase, len(job.attempts)) == (Phase.FAILED, 1)


def test_the_program_may_name_its_own_exit_codes() -> None:
    """
    sys.exit(3) is what the spec says it is, and is then tried again.
    """
    job = builders.job(Phase.RUNNING, exit_codes={"3": FailureClass.DEPENDENCY})
    job = _lived(job, "sys_exit_3", "sys_exit_3", "success")
    assert [attempt.failure and attempt.failure.code for attempt in job.attempts] == ["exit_3", "exit_3", None]
    assert job.phase is Phase.SUCCEEDED


def test_the_program_may_say_that_its_input_comes_later() -> None:
    """
    A failure rule of the job over Spark's own SQLSTATE.
    """
    rule = {"name": "wait for input", "failure_class": "dependency", "code": "input_late", "sqlstates": ["42K03"]}
    job = builders.job(Phase.RUNNING, failure_rules=msgspec.convert([rule], tuple[Rule, ...]))
    job = _lived(job, "sql_missing_path")
    assert (job.phase, job.attempt.failure and job.attempt.failure.code) == (Phase.BACKING_OFF, "input_late")


def test_out_of_memory_gets_more_memory() -> None:
    """
    The driver's heap ran over, though its last words were "SparkContext was shut down": the second attempt has twice.
    """
    retry = RetryPolicy(max_attempts=3, mitigate={FailureClass.OUT_OF_MEMORY: Mitigation(memory_factor=2.0)})
    job = builders.job(Phase.RUNNING, retry=retry, resources=Resources(memory_mib=512))
    seen = _strongest(_sharpened("oom_driver_collect")).symptoms
    assert seen is not None
    assert "SparkContext was shut down" in str(seen.text)
    job = _lived(job, "oom_driver_collect", "success")
    assert [attempt.resources.memory_mib for attempt in job.attempts] == [512, 1024]
    assert job.phase is Phase.SUCCEEDED


def test_a_receipt_that_only_saw_the_end_of_its_jvm() -> None:
    """
    The keeper tells a Python whose JVM is dead to go: its receipt says terminated, the JVM's status says why.
    """
    ended, output = _recorded("oom_task")
    terminated = Finding(rank=Rank.RECEIPT, ending=Ending.TERMINATED, source="receipt.json")
    ended = msgspec.structs.replace(ended, findings=(terminated, *ended.findings[1:]))
    failure = _strongest(sharpen(ended, output, RULES)).failure
    assert failure is not None
    assert (failure.failure_class, failure.code) == (F.OUT_OF_MEMORY, "oom.driver_heap")
    asked = msgspec.structs.replace(ended, stopped=True)
    assert _strongest(sharpen(asked, output, RULES)).failure is None


def test_the_same_failure_twice_is_the_last() -> None:
    """
    Out of memory again with nothing changed will come a third time; a killed driver may not.
    """
    job = _lived(builders.job(Phase.RUNNING), "oom_driver_collect", "oom_driver_collect")
    assert (job.phase, len(job.attempts)) == (Phase.FAILED, 2)
    job = _lived(builders.job(Phase.RUNNING), "jvm_killed", "jvm_killed", "jvm_killed")
    assert (job.phase, len(job.attempts)) == (Phase.BACKING_OFF, 3)


def test_a_changed_attempt_may_fail_the_same_way() -> None:
    """
    With a mitigation each attempt is another one, until the memory cannot grow.
    """
    mitigation = Mitigation(memory_factor=2.0, memory_max_mib=1024)
    retry = RetryPolicy(max_attempts=10, mitigate={FailureClass.OUT_OF_MEMORY: mitigation})
    job = builders.job(Phase.RUNNING, retry=retry, resources=Resources(memory_mib=512))
    job = _lived(job, "oom_driver_collect", "oom_driver_collect", "oom_driver_collect")
    assert [attempt.resources.memory_mib for attempt in job.attempts] == [512, 1024, 1024]
    assert job.phase is Phase.FAILED


def _py4j(message: str, *more: str, **fields: Any) -> Symptoms:
    exceptions = ("py4j.protocol.Py4JJavaError", "py4j.protocol.Py4JError", *more)
    return Symptoms(word="exception", exceptions=exceptions, text=message, **fields)


# Texts of Spark's cluster managers and object stores, which need more than one machine to be had.
ELSEWHERE: list[tuple[str, FailureClass, str]] = [
    (
        "Job aborted due to stage failure: Task 3 in stage 1.0 failed 4 times, most recent failure: Lost task 3.3 in "
        "stage 1.0 (TID 9) (10.0.0.7 executor 2): java.lang.OutOfMemoryError: Java heap space",
        F.OUT_OF_MEMORY,
        "oom.executor",
    ),
    (
        "Job aborted due to stage failure: Lost task 0.3 in stage 0.0 (TID 3) (10.0.0.7 executor 2): "
        "ExecutorLostFailure (executor 2 exited caused by one of the running tasks) Reason: Container killed by YARN "
        "for exceeding physical memory limits. 5.5 GB of 5.5 GB physical memory used.",
        F.OUT_OF_MEMORY,
        "oom.container",
    ),
    (
        "Lost task 0.3: ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Reason: Command "
        "exited with code 137",
        F.OUT_OF_MEMORY,
        "oom.container",
    ),
    (
        "Lost task 0.3: ExecutorLostFailure (executor 1 exited unrelated to the running tasks) Reason: Executor "
        "heartbeat timed out after 133215 ms",
        F.NODE_LOST,
        "executor_lost",
    ),
    (
        "Job aborted due to stage failure: ShuffleMapStage 4 has failed the maximum allowable number of times: 4. "
        "Most recent failure reason: org.apache.spark.shuffle.FetchFailedException: Failed to connect to 10.0.0.8:7337",
        F.SHUFFLE_LOST,
        "fetch_failed",
    ),
    (
        "Lost task 0.0 in stage 0.0: java.io.IOException: No space left on device",
        F.DEPENDENCY,
        "disk_full",
    ),
    (
        "com.amazonaws.services.s3.model.AmazonS3Exception: Slow Down (Service: Amazon S3; Status Code: 503)",
        F.THROTTLED,
        "storage_throttled",
    ),
]


@pytest.mark.parametrize("message, failure_class, code", ELSEWHERE)
def test_what_needs_a_cluster(message: str, failure_class: FailureClass, code: str) -> None:
    """
    Texts that the documentation and issue threads of Spark quote.
    """
    failure = classify(RULES, _py4j(message))
    assert (failure.failure_class, failure.code, failure.retryable) == (failure_class, code, True)
    said_by_the_program = Symptoms(word="exception", exceptions=("RuntimeError",), text=f"RuntimeError: {message}")
    assert classify(RULES, said_by_the_program).failure_class is F.USER_ERROR


@pytest.mark.parametrize(
    "seen, failure_class, code",
    [
        (Symptoms(exit_code=11), F.NODE_LOST, "executors_lost"),
        (Symptoms(exit_code=124), F.TIMEOUT, "driver_timeout"),
        (Symptoms(exit_code=127), F.SUBMISSION_REFUSED, "command_missing"),
        (Symptoms(exit_code=134), F.UNKNOWN, "jvm_crash"),
        (Symptoms(signal=11), F.UNKNOWN, "jvm_crash"),
        (Symptoms(signal=9, word="oom_likely"), F.OUT_OF_MEMORY, "oom.likely"),
        (_py4j("[INTERNAL_ERROR] The plan is broken", sqlstate="XX000"), F.UNKNOWN, "engine_bug"),
        (_py4j("[UNABLE_TO_ACQUIRE_MEMORY] ...", sqlstate="53200"), F.OUT_OF_MEMORY, "oom.executor"),
    ],
)
def test_exit_codes_and_typed_errors(seen: Symptoms, failure_class: FailureClass, code: str) -> None:
    """
    What Spark's own exit codes and SQLSTATEs mean.
    """
    failure = classify(RULES, seen)
    assert (failure.failure_class, failure.code) == (failure_class, code)


def test_every_rule_has_a_name_of_its_own() -> None:
    """
    A verdict names the rule that made it.
    """
    names = [rule.name for rule in RULES]
    assert len(names) == len(set(names))


def test_words_that_are_only_printed_mean_nothing() -> None:
    """
    Neither a caught traceback on stdout before a clean exit status, nor alarming words in the log.
    """
    output = Output(
        stdout="shuffle FetchFailed timeout\nOutOfMemoryError\n",
        stderr="26/01/01 00:00:00 ERROR Job: java.lang.OutOfMemoryError, shuffle FetchFailed, timeout\n",
    )
    seen = from_output(Symptoms(exit_code=7), output)
    assert seen == Symptoms(exit_code=7)
    assert classify(RULES, seen).failure_class is F.USER_ERROR
