"""
Failure rules of plain processes: what an exit status, a signal or a Python exception means.

Source of the rows: the engine's own failure table, each row seen on Linux 6.18; signal numbers are those of x86-64 and
arm64 Linux.
"""

from __future__ import annotations

from standfast.core.failure import FailureClass, Rule

SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGSEGV = 1, 2, 3, 4, 6, 7, 8, 9, 11
SIGTERM, SIGXCPU, SIGXFSZ, SIGSYS = 15, 24, 25, 31

OOM_LIKELY, REBOOT, NO_RECORD = "oom_likely", "reboot", "no_record"
"""Words that `translate` puts into the symptoms, from facts that no exit status carries."""

RULES: tuple[Rule, ...] = (
    Rule(
        name="process/memory_error",
        failure_class=FailureClass.OUT_OF_MEMORY,
        code="oom.exception",
        exceptions=("MemoryError", "OutOfMemoryError"),
    ),
    Rule(
        name="process/oom_likely",
        failure_class=FailureClass.OUT_OF_MEMORY,
        code="oom.likely",
        signals=(SIGKILL,),
        words=(OOM_LIKELY,),
    ),
    Rule(name="process/reboot", failure_class=FailureClass.NODE_LOST, code="reboot", words=(REBOOT,)),
    Rule(
        name="process/no_record",
        failure_class=FailureClass.UNKNOWN,
        code="no_record",
        words=(NO_RECORD,),
        suggestion="Both keepers were killed and no receipt was left; run the script under our runner to have one.",
    ),
    Rule(name="process/cpu_limit", failure_class=FailureClass.TIMEOUT, code="cpu_limit", signals=(SIGXCPU,)),
    Rule(
        name="process/connection",
        failure_class=FailureClass.DEPENDENCY,
        code="connection",
        exceptions=("ConnectionError", "ConnectionRefusedError", "ConnectionResetError"),
    ),
    Rule(name="process/exception", failure_class=FailureClass.USER_ERROR, code="exception", words=("exception",)),
    Rule(
        name="process/crash",
        failure_class=FailureClass.USER_ERROR,
        code="crash",
        signals=(SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE, SIGSYS, SIGXFSZ, SIGQUIT),
    ),
    Rule(
        name="process/killed",
        failure_class=FailureClass.CANCELLED_OUTSIDE,
        code="killed",
        signals=(SIGKILL, SIGTERM, SIGINT, SIGHUP),
    ),
    Rule(
        name="process/exit",
        failure_class=FailureClass.USER_ERROR,
        code="exit",
        exit_codes=tuple(range(1, 256)),
        suggestion="Read the end of its stderr in the evidence; `exit_codes` of the spec can give the number a class.",
    ),
)
