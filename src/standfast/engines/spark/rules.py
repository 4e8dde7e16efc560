"""
Failure rules of Spark: what its typed errors, exit codes and a few of its messages mean.

Source: Spark 4.3.0; every row marked [M] was seen with real Spark, its text kept as a fixture of the tests; the others
are from Spark's error conditions and the texts of its cluster managers. Exit codes: SparkExitCode and
ExecutorExitCode. Text decides only beside an exception of the JVM: a program that merely says "shuffle timeout" has
failed by itself, and is not retried.
"""

from __future__ import annotations

from standfast.core.failure import FailureClass, Rule
from standfast.engines.process import rules as process

F = FailureClass

JVM = (
    "SparkException",
    "SparkRuntimeException",
    "SparkUpgradeException",
    "Py4JJavaError",
    "IOException",
)
"""Exceptions whose text is Spark's own, not the user's."""

_FIRST = (
    "process/oom_proven",
    "process/oom_likely",
    "process/reboot",
    "process/no_record",
    "process/cpu_limit",
)
_KERNEL = tuple(rule for rule in process.RULES if rule.name in _FIRST)
_PYTHON = tuple(rule for rule in process.RULES if rule.name not in _FIRST and rule.name != "process/memory_error")

_MEMORY = (
    Rule(
        name="spark/driver_heap",  # [M] even where the last words are "SparkContext was shut down".
        failure_class=F.OUT_OF_MEMORY,
        code="oom.driver_heap",
        exit_codes=(52,),
        suggestion="Collect less into the driver, or give it 1.5 to 2 times the memory (resources.memory_mib).",
    ),
    Rule(
        name="spark/python_function",  # [M] before every text: its message is the user's own, whatever it says.
        failure_class=F.USER_ERROR,
        code="code",
        exceptions=("PythonException",),
        suggestion="The worker's traceback names the line of the function that raised.",
    ),
    Rule(
        name="spark/task_heap",  # [M] with a local master, whose tasks share the driver's heap.
        failure_class=F.OUT_OF_MEMORY,
        code="oom.executor",
        exceptions=JVM,
        text=r"(Lost task|ExecutorLostFailure|stage failure)[^\n]*(java\.lang\.OutOfMemoryError|exited with code 52\b)",
        suggestion="Give executors more memory or fewer cores, or make more partitions.",
    ),
    Rule(
        name="spark/heap",  # [M] in a call from Python, and in the main thread of a jar.
        failure_class=F.OUT_OF_MEMORY,
        code="oom.driver_heap",
        exceptions=("java.lang.OutOfMemoryError", "SparkOutOfMemoryError"),
        suggestion="Collect less into the driver, or give it 1.5 to 2 times the memory (resources.memory_mib).",
    ),
    Rule(
        name="spark/unable_to_acquire",
        failure_class=F.OUT_OF_MEMORY,
        code="oom.executor",
        sqlstates=("53200", "82001", "82003"),
        suggestion="Give executors more memory or fewer cores, or make more partitions.",
    ),
    Rule(
        name="spark/container",
        failure_class=F.OUT_OF_MEMORY,
        code="oom.container",
        exceptions=JVM,
        text=r"exceeding (physical|virtual) memory limits|OOMKilled|exited with code 137\b",
        suggestion="Raise spark.executor.memoryOverheadFactor, or bound the Python workers' memory.",
    ),
    Rule(name="spark/python_memory", failure_class=F.OUT_OF_MEMORY, code="oom.python", exceptions=("MemoryError",)),
    Rule(
        name="spark/result_too_large",  # [M]
        failure_class=F.USER_ERROR,
        code="result_too_large",
        exceptions=JVM,
        text=r"(Total|serialized) size of .{0,80}is bigger than .{0,20}maxResultSize",
        suggestion="Write the result instead of collecting it, or raise spark.driver.maxResultSize.",
    ),
)

_USER = (
    Rule(
        name="spark/input_missing",  # [M]
        failure_class=F.USER_ERROR,
        code="input_missing",
        sqlstates=("42K03", "42P01"),
        suggestion="If the input may come later, give the job a failure rule: SQLSTATE 42K03 is a `dependency`.",
    ),
    Rule(
        name="spark/output_exists",  # [M]
        failure_class=F.USER_ERROR,
        code="output_exists",
        sqlstates=("42K04", "42P07"),
        suggestion="Write each attempt to a place of its own, or overwrite.",
    ),
    Rule(
        name="spark/conf",  # [M]
        failure_class=F.USER_ERROR,
        code="conf",
        conditions=("INVALID_SPARK_CONFIG", "INVALID_DRIVER_MEMORY", "INVALID_EXECUTOR_MEMORY"),
        suggestion="Correct program.conf, or the memory that the message names.",
    ),
    Rule(name="spark/sql", failure_class=F.USER_ERROR, code="sql", sqlstates=("42", "0A")),  # [M]
    Rule(
        name="spark/data",  # [M]
        failure_class=F.USER_ERROR,
        code="data",
        sqlstates=("22",),
        suggestion="A row does not fit the expression that the message points to; use the try_ form to tolerate it.",
    ),
    Rule(
        name="spark/analysis",
        failure_class=F.USER_ERROR,
        code="sql",
        exceptions=("AnalysisException", "ParseException"),
    ),
)

_PLATFORM = (
    Rule(
        name="spark/cancelled",  # [M]
        failure_class=F.CANCELLED_OUTSIDE,
        code="job_cancelled",
        sqlstates=("XXKDA", "HY008"),
    ),
    Rule(name="spark/storage", failure_class=F.DEPENDENCY, code="storage", sqlstates=("58030", "KD001")),
    Rule(
        name="spark/disk_full",
        failure_class=F.DEPENDENCY,
        code="disk_full",
        exceptions=JVM,
        text=r"No space left on device|exited with code 53\b",
        suggestion="Point spark.local.dir at a larger disk.",
    ),
    Rule(
        name="spark/throttled",
        failure_class=F.THROTTLED,
        code="storage_throttled",
        exceptions=(*JVM, "AmazonS3Exception", "S3Exception", "AWSServiceIOException"),
        text=r"Slow ?Down|Status Code: 503|RequestLimitExceeded|TooManyRequests|ThrottlingException",
        suggestion="Fewer writers and files, or a committer that renames nothing.",
    ),
    Rule(
        name="spark/denied",
        failure_class=F.DEPENDENCY,
        code="denied",
        retryable=False,
        exceptions=("AccessDeniedException", "AccessControlException", "KerberosAuthException"),
        suggestion="Renew the credentials, or the permission on the path in the message.",
    ),
    Rule(
        name="spark/commit_conflict",
        failure_class=F.DEPENDENCY,
        code="commit_conflict",
        exceptions=("ConcurrentAppendException", "ConcurrentWriteException", "CommitFailedException"),
        suggestion="See whether an earlier attempt has committed already before running again.",
    ),
    Rule(
        name="spark/shuffle",
        failure_class=F.SHUFFLE_LOST,
        code="fetch_failed",
        exceptions=(*JVM, "FetchFailedException", "MetadataFetchFailedException"),
        text=r"FetchFailed|Missing an output location for shuffle",
    ),
    Rule(
        name="spark/executors",
        failure_class=F.NODE_LOST,
        code="executor_lost",
        exceptions=JVM,
        text=r"ExecutorLostFailure|Executor heartbeat timed out|exited with code 5[678]\b|RPC client disassociated",
        suggestion="Look at the executors' garbage collection, overhead memory and hosts.",
    ),
    Rule(name="spark/executor_failures", failure_class=F.NODE_LOST, code="executors_lost", exit_codes=(11,)),
    Rule(
        name="spark/master",  # [M]
        failure_class=F.ENGINE_UNREACHABLE,
        code="master_unreachable",
        exceptions=(*JVM, "IllegalStateException", "IllegalArgumentException"),
        text=r"All masters are unresponsive|Failed to connect to master|Could not connect to .{1,200}:\d+",
        suggestion="See whether the master in program.master answers.",
    ),
    Rule(
        name="spark/master_malformed",  # [M]
        failure_class=F.SUBMISSION_REFUSED,
        code="master_malformed",
        text=r"Could not parse Master URL|Master must either be yarn or start with|Invalid master URL",
        exceptions=(*JVM, "IllegalArgumentException"),
        suggestion="Correct program.master.",
    ),
    Rule(
        name="spark/python_worker",  # [M] a worker died without a word: most often for memory, but that is not proven.
        failure_class=F.UNKNOWN,
        code="python_worker_lost",
        retryable=True,
        exceptions=JVM,
        text=r"Python worker exited unexpectedly",
        suggestion="Set spark.sql.execution.pyspark.udf.faulthandler.enabled, and bound the workers' memory.",
    ),
    Rule(
        name="spark/internal",
        failure_class=F.UNKNOWN,
        code="engine_bug",
        retryable=True,
        sqlstates=("XX000",),
        suggestion="This is Spark's own fault; keep the plan and report it if it repeats.",
    ),
)

_STATUS = (
    Rule(
        name="spark/class_missing",  # [M]
        failure_class=F.SUBMISSION_REFUSED,
        code="class_missing",
        exit_codes=(101,),
        suggestion="See program.main_class, and what the jar holds.",
    ),
    Rule(name="spark/command_missing", failure_class=F.SUBMISSION_REFUSED, code="command_missing", exit_codes=(127,)),
    Rule(name="spark/driver_timeout", failure_class=F.TIMEOUT, code="driver_timeout", exit_codes=(124,)),
    Rule(
        name="spark/jvm_crash",
        failure_class=F.UNKNOWN,
        code="jvm_crash",
        retryable=True,
        signals=(process.SIGSEGV, process.SIGABRT, process.SIGBUS, process.SIGILL, process.SIGFPE),
        suggestion="The JVM left hs_err_pid*.log in the attempt's folder.",
    ),
    Rule(
        name="spark/jvm_crash_status",
        failure_class=F.UNKNOWN,
        code="jvm_crash",
        retryable=True,
        exit_codes=(134, 139),
        suggestion="The JVM left hs_err_pid*.log in the attempt's folder.",
    ),
    Rule(
        name="spark/killed",  # [M]
        failure_class=F.CANCELLED_OUTSIDE,
        code="killed",
        retryable=True,
        signals=(process.SIGKILL, process.SIGTERM, process.SIGINT, process.SIGHUP),
    ),
    Rule(
        name="spark/killed_status",  # [M] the JVM after SIGTERM, or after its Python was killed.
        failure_class=F.CANCELLED_OUTSIDE,
        code="killed",
        retryable=True,
        exit_codes=(129, 130, 137, 143),
    ),
    Rule(
        name="spark/context_stopped",  # [M]
        failure_class=F.UNKNOWN,
        code="context_stopped",
        retryable=True,
        exceptions=(*JVM, "IllegalStateException"),
        text=r"SparkContext was shut down|stopped SparkContext",
    ),
    Rule(
        name="spark/illegal_argument",
        failure_class=F.USER_ERROR,
        code="illegal_argument",
        exceptions=("java.lang.IllegalArgumentException",),
        suggestion="Most often a value in program.conf that Spark cannot take.",
    ),
    Rule(name="spark/unclassified", failure_class=F.UNKNOWN, code="spark_exception", exceptions=JVM),
    Rule(
        name="spark/gateway",
        failure_class=F.UNKNOWN,
        code="gateway_lost",
        retryable=True,
        exceptions=("Py4JNetworkError", "Py4JError"),
        suggestion="The JVM went away without an exit status that tells why; read the end of stderr.",
    ),
)

RULES: tuple[Rule, ...] = (
    *_KERNEL,
    # Before every exit code: a program may exit with any number, also one of Spark's own.
    Rule(name="spark/sys_exit", failure_class=F.USER_ERROR, code="exit", words=("sys.exit",)),
    *_MEMORY,
    *_USER,
    *_PLATFORM,
    *_STATUS,
    *_PYTHON,
)
"""The first that fits decides."""
