"""
Verbs that change a job: cancel, suspend, resume, retry, resolve, delete.

Belongs here: whom it concerns, the question before what cannot be taken back, what was accepted. Not here: whether a
job allows it, which the control plane decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from cyclopts import Parameter

from standfast.cli import output, problems, refs, render
from standfast.cli.exits import Exit, Quit, exit_of_phase
from standfast.cli.options import (
    ASK,
    AT_ONCE,
    FRESH,
    NOWHERE,
    Consent,
    Everywhere,
    Identity,
    Waiting,
    Words,
    pairs,
)
from standfast.cli.session import Session, open_session
from standfast.cli.terminal import inert
from standfast.client.errors import ClientError, WaitTimeout

if TYPE_CHECKING:
    from standfast.client import JobView

BULK_SHOWN = 20
"""Jobs named one by one in the question about many."""

Labels = Annotated[Words, Parameter(name=("--label", "-l"))]


def cancel(
    *ref: str,
    label: Labels = (),
    reason: str | None = None,
    consent: Consent = ASK,
    waiting: Waiting = AT_ONCE,
    everywhere: Everywhere = NOWHERE,
) -> int:
    """
    End jobs. Accepted at once; done when the engine confirms that nothing of them is alive.

    Args:
        ref: Jobs.
        label: Instead: every unfinished job with this label k=v; the list is shown first.
        reason: Kept with the job.
    """
    waiting.limit_s()
    with open_session(everywhere) as session:
        jobs = _chosen(session, ref, label)
        if not _agreed(session, "Cancel", jobs, consent, lost="work since the start of the attempt is lost"):
            return Exit.USAGE
        return _each(session, jobs, lambda job: job.cancel(reason=reason), waiting, until="done", wished=("cancelled",))


def suspend(
    *ref: str,
    label: Labels = (),
    reason: str | None = None,
    consent: Consent = ASK,
    waiting: Waiting = AT_ONCE,
    everywhere: Everywhere = NOWHERE,
) -> int:
    """
    Stop what runs of the jobs, and start nothing until they are resumed.

    Args:
        ref: Jobs.
        label: Instead: every unfinished job with this label k=v; the list is shown first.
        reason: Kept with the job.
    """
    waiting.limit_s()
    with open_session(everywhere) as session:
        jobs = _chosen(session, ref, label)
        if not _agreed(
            session, "Suspend", jobs, consent, lost="a running attempt is stopped and begins anew on resume"
        ):
            return Exit.USAGE
        return _each(
            session, jobs, lambda job: job.suspend(reason=reason), waiting, until="suspended", wished=("suspended",)
        )


def resume(
    *ref: str,
    label: Labels = (),
    waiting: Waiting = AT_ONCE,
    everywhere: Everywhere = NOWHERE,
) -> int:
    """
    Let suspended jobs wait for their turn again.

    Args:
        ref: Jobs.
        label: Instead: every unfinished job with this label k=v.
    """
    waiting.limit_s()
    with open_session(everywhere) as session:
        jobs = _chosen(session, ref, label)
        return _each(session, jobs, lambda job: job.resume(), waiting, until="running", wished=("running", "succeeded"))


def retry(
    ref: str,
    /,
    *,
    set_: Annotated[Words, Parameter(name="--set")] = (),
    identity: Identity = FRESH,
    waiting: Waiting = AT_ONCE,
    everywhere: Everywhere = NOWHERE,
) -> int:
    """
    Make a new job like a finished one; a finished job is never opened again. Its uid goes to stdout.

    Args:
        ref: The finished job.
        set_: Change of the spec, path=value, such as resources.memory_mib=8192; null takes a field away.
    """
    limit_s = waiting.limit_s()
    with open_session(everywhere) as session:
        job = refs.find(session.client, ref)
        request_id = identity.chosen() or session.fresh_request_id()
        session.intend(request_id, verb="retry", name=job.name)
        made = job.retry(changes=changes_of(set_), key=request_id)
        session.journal.answered(request_id, made.uid)
        session.terminal.say(f"✓ accepted    {made.uid} {made.name}, retry of {job.uid}")
        if waiting.wait:
            made = made.wait(timeout=limit_s)
        if session.format.for_people:
            session.terminal.print(made.uid)
        _show(session, made)
        return exit_of_phase(str(made.phase)) if waiting.wait else Exit.OK


def resolve(
    ref: str,
    /,
    *,
    as_: Annotated[Literal["absent", "present", "done"], Parameter(name="--as")],
    because: str,
    outcome: Literal["succeeded", "failed", "cancelled"] | None = None,
    consent: Consent = ASK,
    waiting: Waiting = AT_ONCE,
    everywhere: Everywhere = NOWHERE,
) -> int:
    """
    Settle an uncertain job by a person's word, which is recorded as such with who and why.

    If the word is wrong, a job may run twice; so on a terminal the uid has to be typed back.

    Args:
        ref: The uncertain job.
        as_: absent: nothing of the attempt is alive. present: it runs. done: it ended with --outcome.
        because: How you know.
        outcome: How it ended, with --as done.
    """
    if not because.strip():
        raise Quit(Exit.USAGE, "--because must say how you know; nothing was sent")
    if (as_ == "done") != (outcome is not None):
        raise Quit(Exit.USAGE, "--outcome goes with --as done, and --as done needs it; nothing was sent")
    waiting.limit_s()
    with open_session(everywhere) as session:
        job = refs.find(session.client, ref)
        if not consent.yes:
            _need_person(session)
            session.terminal.say(f"{job.uid} {job.name}: {inert(job.why.message)}")
            typed = session.terminal.answer(f"You say it is {as_}. Type the uid to confirm: ")
            if typed != job.uid:
                session.terminal.say("that is not the uid; nothing was sent")
                return Exit.USAGE
        return _each(
            session,
            [job],
            lambda one: one.resolve(as_, because=because, outcome=outcome),
            waiting,
            until="done",
            wished=("succeeded",),
        )


def delete(
    *ref: str,
    label: Labels = (),
    consent: Consent = ASK,
    everywhere: Everywhere = NOWHERE,
) -> int:
    """
    Remove finished jobs for good: their output, record, evidence and events. A running job cannot be deleted.

    Args:
        ref: Finished jobs.
        label: Instead: every finished job with this label k=v; the list is shown first.
    """
    with open_session(everywhere) as session:
        jobs = _chosen(session, ref, label, finished=True)
        if not _agreed(session, "Delete", jobs, consent, lost="output, evidence and events are gone for good"):
            return Exit.USAGE
        code = Exit.OK
        for job in jobs:
            try:
                job.delete()
                session.terminal.say(f"✓ deleted     {job.uid} {job.name}")
            except ClientError as error:
                code = _refused(session, job, error)
        return code


def changes_of(words: Sequence[str]) -> dict[str, Any]:
    """
    `a.b=1` words as a merge patch: values are JSON if they parse as such, text otherwise.

    Raises:
        Quit: A word has no `=`.
    """
    patch: dict[str, Any] = {}
    for path, text in pairs(words, "--set").items():
        try:
            value = msgspec.json.decode(text)
        except msgspec.DecodeError:
            value = text
        inner = patch
        *outer, last = path.split(".")
        for part in outer:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return patch


def _chosen(session: Session, words: Sequence[str], label: Sequence[str], *, finished: bool = False) -> list[JobView]:
    """
    The jobs that are meant.
    """
    if bool(words) == bool(label):
        raise Quit(Exit.USAGE, "name the jobs, or choose them with -l; nothing was sent")
    if words:
        return [refs.find(session.client, word) for word in words]
    phases = list(refs.FINAL) if finished else ["!" + phase for phase in refs.FINAL]
    found = list(session.client.jobs.list(labels=pairs(label, "-l"), phase=phases))
    if not found:
        session.terminal.say("no job fits; nothing was sent")
    return found


def _agreed(session: Session, verb: str, jobs: Sequence[JobView], consent: Consent, *, lost: str) -> bool:
    """
    Whether the person agrees, after hearing what is meant and what is lost. The default answer is no.
    """
    if consent.yes or not jobs:
        return True
    _need_person(session)
    say = session.terminal.say
    if len(jobs) == 1:
        job = jobs[0]
        running = f" Running handle {job.attempt.handle};" if job.attempt and not job.final else ""
        question = f"{verb} {job.name} ({job.uid}) on {session.settings.label}?{running} {lost}. [y/N] "
    else:
        for job in jobs[:BULK_SHOWN]:
            say(f"  {job.uid}  {session.terminal.talk.state(str(job.phase))}  {job.name}")
        if len(jobs) > BULK_SHOWN:
            say(f"  … and {len(jobs) - BULK_SHOWN} more")
        question = f"{verb} these {len(jobs)} jobs on {session.settings.label}? {lost}. [y/N] "
    if session.terminal.answer(question).lower() in ("y", "yes"):
        return True
    say("nothing was sent")
    return False


def _need_person(session: Session) -> None:
    if not session.terminal.asks:
        raise Quit(
            Exit.USAGE,
            "this asks first, and there is no terminal to ask on; nothing was sent",
            name="no_terminal",
            hint="Give -y to say yes beforehand.",
        )


def _each(
    session: Session,
    jobs: Sequence[JobView],
    change: Callable[[JobView], JobView],
    waiting: Waiting,
    *,
    until: str,
    wished: tuple[str, ...],
) -> int:
    """
    Change each job by itself; the worst exit code. A refusal of one does not keep the others.
    """
    worst = Exit.OK
    limit_s = waiting.limit_s()
    for job in jobs:
        try:
            after = change(job)
            session.terminal.say(f"✓ accepted    {after.uid} {after.name}: {inert(after.why.message)}")
            if waiting.wait:
                after = after.wait(until=until, timeout=limit_s)
                session.terminal.say(render.settled(session.terminal.talk, after))
                if str(after.phase) not in wished:
                    worst = max(worst, exit_of_phase(str(after.phase)))
            _show(session, after)
        except ClientError as error:
            worst = max(worst, _refused(session, job, error))
    return worst


def _refused(session: Session, job: JobView, error: ClientError) -> Exit:
    if not isinstance(error, WaitTimeout):
        session.terminal.say(f"{job.uid} {job.name}:")
    problems.show(session.terminal, error, machine=session.format.kind in ("json", "jsonl"))
    return problems.exit_of(error)


def _show(session: Session, job: JobView) -> None:
    """
    Data about the changed job, for machines only; people have been told.
    """
    if session.format.for_people:
        return
    output.show_line(session.terminal, session.format, job.snapshot)
