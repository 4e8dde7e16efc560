"""
From what was read of an attempt to an observation; pure.

Belongs here: tickets, receipts and output tails as findings with symptoms. Not here: reading them (`engine`), or what
an ending means for the job (core).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from standfast.core.failure import Failure, FailureClass, Rule, Symptoms, classify
from standfast.core.job import observation as o
from standfast.core.job.evidence import Ending, Finding, Rank, Verdict
from standfast.engines.process import launcher, observe, ticket
from standfast.engines.process.receipt import Ignored, Receipt
from standfast.engines.process.root import Root
from standfast.engines.process.rules import NO_RECORD, OOM_LIKELY, REBOOT, SIGKILL

TRANSIENT = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EIO})
"""Refusals that may pass: the disk, memory or a table is full just now."""

TEXT_MAX = 2000
"""Characters of a message that rules are tried on."""

_GONE = {
    "gone": (Verdict.PROVEN, "ticket: no descendant was left (ECHILD under a subreaper)"),
    "never_released": (Verdict.PROVEN, "ticket: the job process was never released"),
    "rebooted": (Verdict.PROVEN, "the machine has booted since"),
    "keepers_lost": (Verdict.UNKNOWN, "both keepers were killed; no survivor was found, which is no proof"),
    "elsewhere": (Verdict.UNKNOWN, "its keepers lived in another pid namespace, which cannot be seen from here"),
}


class Remains(msgspec.Struct, frozen=True):
    """
    What an ended attempt left behind in its folder: its receipt, the tail of stderr, notes of duplicates.
    """

    receipt: Receipt | Ignored | None = None
    stderr: str = ""
    duplicates: int = 0


def to_observation(
    look: observe.Look,
    remains: Remains,
    *,
    root: Root,
    booted_at: datetime,
    rules: Sequence[Rule],
    now: datetime,
    by: str,
    tried: launcher.Command | None = None,
) -> o.Observation:
    """
    What the look says, in the words of the port.

    tried: what was to be run, if this control plane launched it; a ticket does not tell, and names it in no failure.
    booted_at: boot time by our own clock. A ticket of this boot is dated by its time since boot, so that a step of the
    machine's clock moves no deadline; one of an earlier boot by the wall clock it saw.
    """
    incarnation = root.incarnation
    match look:
        case observe.Unreachable(code=code, reason=reason):
            return o.Unreachable(at=now, by=by, reason=f"{code}: {reason}")
        case observe.Absent(final=final):
            # One link per name: sending again cannot make two, so no quiet time is needed.
            return o.Absent(at=now, by=by, incarnation=incarnation, proven=True, final=final)
        case observe.Seen(state="ended"):
            return _ended(look, remains, root=root, booted_at=booted_at, rules=rules, now=now, by=by, tried=tried)
    return o.Present(
        at=now,
        by=by,
        incarnation=incarnation,
        state=o.RunState(look.state),
        # Ending lasts a moment and is no news worth a write.
        engine_status="running" if look.state == "ending" else look.state,
        engine_ref=_reference(look.ticket),
        started_at=_at(look.ticket, look.ticket.started, root, booted_at) if look.ticket else None,
        note=f"pids {', '.join(str(s.process.pid) for s in look.survivors)}" if look.survivors else None,
    )


def to_refusal(launched: launcher.Refused, *, now: datetime, by: str) -> o.Refused:
    """
    A launch that the machine could not take: nothing was claimed, and if the cause may pass, a retry is free.
    """
    transient = launched.errno in TRANSIENT
    message = f"{launched.stage}: {os.strerror(launched.errno)}"
    failure = Failure.of(
        FailureClass.SUBMISSION_REFUSED, f"refused.{launched.stage}", message, retryable=transient, free=True
    )
    return o.Refused(at=now, by=by, failure=failure)


def to_conflict(handle: str, theirs: str | None, ours: str, *, now: datetime, by: str) -> o.Refused:
    """
    The handle was spent on another order: never to be run again, and a bug or a foreign hand.
    """
    message = f"{handle} was spent on {theirs}, this order is {ours}"
    failure = Failure.of(FailureClass.SUBMISSION_REFUSED, "handle_conflict", message, retryable=False, free=True)
    return o.Refused(at=now, by=by, failure=failure)


def _ended(
    look: observe.Seen,
    remains: Remains,
    *,
    root: Root,
    booted_at: datetime,
    rules: Sequence[Rule],
    now: datetime,
    by: str,
    tried: launcher.Command | None,
) -> o.Ended:
    gone, gone_source = _GONE[look.basis]
    found = look.ticket
    ended = found.ended if found else None
    findings = [
        finding
        for finding in (
            from_receipt(remains.receipt, rules=rules),
            _from_status(look, remains, rules=rules, tried=tried),
        )
        if finding is not None
    ]
    if remains.duplicates:
        said = f"{remains.duplicates} more launches of the attempt ended at once, without running user code"
        findings.append(Finding(rank=Rank.TEXT, ending=Ending.UNKNOWN, source="duplicate notes", raw=said))
    return o.Ended(
        at=now,
        by=by,
        incarnation=root.incarnation,
        findings=tuple(findings),
        gone=gone,
        gone_source=gone_source,
        stopped=bool(ended and ended.asked) or bool(found and found.gone and found.gone.asked and not ended),
        engine_status=_word(look),
        engine_ref=_reference(found),
        started_at=_at(found, found.started, root, booted_at) if found else None,
        ended_at=_at(found, found.ended, root, booted_at) if found else None,
    )


def _from_status(
    look: observe.Seen, remains: Remains, *, rules: Sequence[Rule], tried: launcher.Command | None
) -> Finding:
    """
    What the kernel said about the main process, or that nobody heard it.
    """
    source, status = "ticket: exit status", look.status
    match status:
        case ticket.Exited(code=0):
            return Finding(
                rank=Rank.EXIT_STATUS, ending=Ending.SUCCEEDED, source=source, symptoms=Symptoms(exit_code=0)
            )
        case ticket.Exited(code=code):
            seen = Symptoms(exit_code=code, text=remains.stderr or None)
        case ticket.Signaled(signal=number) | ticket.Dumped(signal=number):
            word = OOM_LIKELY if number == SIGKILL and _oom_rose(look.ticket) else None
            seen = Symptoms(signal=number, word=word, text=remains.stderr or None)
        case ticket.ExecFailed(stage=stage, errno=number):
            failure = Failure.of(
                FailureClass.SUBMISSION_REFUSED,
                f"exec.{stage}",
                _not_run(stage, number, tried),
                retryable=number in TRANSIENT,
                free=True,
            )
            return Finding(rank=Rank.EXIT_STATUS, ending=Ending.NEVER_RAN, source=source, failure=failure)
        case ticket.NeverRan(reason=reason):
            message = f"its launch was cut off before it was released ({reason})"
            failure = Failure.of(FailureClass.SUBMISSION_REFUSED, "never_ran", message, retryable=True, free=True)
            return Finding(rank=Rank.EXIT_STATUS, ending=Ending.NEVER_RAN, source=source, failure=failure)
        case None:
            word = REBOOT if look.basis == "rebooted" else NO_RECORD
            text = "the machine booted while it ran" if word == REBOOT else "nobody was left to hear its exit status"
            seen = Symptoms(word=word, text=text)
            ending = Ending.FAILED if word == REBOOT else Ending.UNKNOWN
            failure = classify(rules, seen)
            return Finding(rank=Rank.STATUS_WORD, ending=ending, source="ticket", failure=failure, symptoms=seen)
    return Finding(
        rank=Rank.EXIT_STATUS,
        ending=Ending.FAILED,
        source=source,
        failure=classify(rules, seen),
        symptoms=seen,
        raw=remains.stderr or None,
    )


def _not_run(stage: str, number: int, tried: launcher.Command | None) -> str:
    """
    Which program or folder it was, and why not.
    """
    why = os.strerror(number)
    if tried is None:
        return f"{stage}: {why}"
    if stage == "cwd":
        return f"folder {tried.cwd!r}: {why}"
    if stage == "exec":
        name = tried.argv[0]
        # Without a slash it is looked for; a file that is there but is not found lacks its interpreter.
        looked = f" (looked for in {tried.env.get('PATH', os.defpath)})" if "/" not in name else ""
        return f"program {name!r}: {why}{looked}"
    return f"{stage} of program {tried.argv[0]!r}: {why}"


def from_receipt(left: Receipt | Ignored | None, *, rules: Sequence[Rule]) -> Finding | None:
    """
    What the attempt wrote about itself; a file that does not count says nothing, but is kept.
    """
    if left is None:
        return None
    if isinstance(left, Ignored):
        return Finding(
            rank=Rank.RECEIPT, ending=Ending.UNKNOWN, source=f"receipt.json, ignored: {left.reason}"[:200], raw=left.raw
        )
    source, raw = "receipt.json", msgspec.json.encode(left).decode()
    if left.outcome != "failed":
        return Finding(rank=Rank.RECEIPT, ending=Ending(left.outcome), source=source, raw=raw)
    seen = _symptoms(left)
    return Finding(
        rank=Rank.RECEIPT,
        ending=Ending.FAILED,
        source=source,
        failure=classify(rules, seen),
        symptoms=seen,
        raw=raw,
    )


def _symptoms(receipt: Receipt) -> Symptoms:
    """
    The chain of exceptions, nearest first, with every base, so that a rule may name any of them.
    """
    chain = receipt.chain
    names = [name for link in chain for name in (link.class_, *link.bases)]
    first = chain[0].class_.rpartition(".")[2] if chain else ""
    message = " ".join((chain[0].message or "").split()) if chain else ""
    return Symptoms(
        exit_code=receipt.exit if receipt.by == "sys.exit" else None,
        exceptions=tuple(dict.fromkeys(names)),
        condition=next((link.condition for link in chain if link.condition), None),
        sqlstate=next((link.sqlstate for link in chain if link.sqlstate), None),
        word=receipt.by or "exception",
        text=": ".join(part for part in (first, message) if part)[:TEXT_MAX] or None,
    )


def _oom_rose(found: ticket.Ticket | None) -> bool:
    """
    Whether the kernel killed for memory while the attempt ran, in our own cgroup if that is told, else anywhere.
    """
    if found is None or found.started is None or found.ended is None:
        return False
    before, after = found.started.oom, found.ended.oom
    if before.cgroup is not None and after.cgroup is not None:
        return after.cgroup > before.cgroup
    return before.machine is not None and after.machine is not None and after.machine > before.machine


def _word(look: observe.Seen) -> str:
    """
    The status in one word of this engine: `exited 3`, `signaled 9`, `exec_failed cwd 2`, `lost`.
    """
    status = look.status
    if status is None:
        return look.basis
    return " ".join(str(part) for part in msgspec.to_builtins(status))


def _reference(found: ticket.Ticket | None) -> str | None:
    return f"pid {found.started.main}" if found and found.started else None


def _at(
    found: ticket.Ticket, record: ticket.Started | ticket.Ended | None, root: Root, booted_at: datetime
) -> datetime | None:
    if record is None:
        return None
    if found.claim.boot == root.boot:
        return booted_at + timedelta(seconds=record.boottime)
    return datetime.fromtimestamp(record.wall, UTC)
