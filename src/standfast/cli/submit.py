"""
Verbs that bring work in: run, submit, apply, plan.

Belongs here: making the request id, writing it down, sending, saying what was accepted. Not here: how a job is
described (`work`), or how it is followed (`progress`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import msgspec
from cyclopts import Parameter

from standfast.cli import command_line, output, problems, render
from standfast.cli.exits import Exit, Quit
from standfast.cli.options import FRESH, NOWHERE, Everywhere, Identity
from standfast.cli.session import Session, open_session
from standfast.cli.work import AS_IT_IS, Work, manifests
from standfast.client.errors import ClientError

if TYPE_CHECKING:
    from standfast.client import JobView, answers
    from standfast.client.spec import Spec


def run(
    file: str | None = None,
    /,
    *,
    work: Work = AS_IT_IS,
    plan: str | None = None,
    attach: str | None = None,
    detach: Annotated[bool, Parameter(name=("--detach", "-d"), negative="")] = False,
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    pass_exit_code: Annotated[bool, Parameter(negative="")] = False,
    quiet: Annotated[bool, Parameter(name=("--quiet", "-q"), negative="")] = False,
    identity: Identity = FRESH,
    everywhere: Everywhere = NOWHERE,
) -> int:
    """
    Submit a job and follow it to its end; exit 0, 8 or 9 as it succeeded, failed or was cancelled.

    FILE is a manifest (.yaml, .json, - for stdin), or a program whose arguments stand behind --. Without FILE the words
    behind -- are the command. The job's output goes to stdout and stderr, what happens to it to stderr; on a terminal
    the last line says how it stands.

    Ctrl-C detaches and never cancels. Without a configured server this process is the control plane: the job outlives
    it all the same, and the next standfast command on the same state folder finds it.

    Args:
        file: Manifest or program.
        plan: Token that `standfast plan` printed: run exactly what it showed, once. Refused, exit 5, if the control
            plane would do something else with it now.
        attach: Follow this job (REF) again instead of submitting one.
        detach: Return once the job is accepted, like submit.
        dry_run: Say what would be sent, and send nothing.
        pass_exit_code: Exit with the job's own code; our own trouble is then 125.
        quiet: Do not say what happens, only show the job's output.
    """
    with open_session(everywhere) as session:
        if attach is not None:
            from standfast.cli import refs

            job = refs.find(session.client, attach)
        else:
            key = identity.chosen()
            if plan is None:
                spec = work.spec(file, here=_here(session))
            elif file is not None or command_line.behind() or work != AS_IT_IS:
                raise Quit(Exit.USAGE, "--plan says all there is to run; give nothing beside it")
            else:
                spec = _as_planned(session, plan)
                key = key or spec.key or f"plan-{plan}"
            if dry_run:
                return _planned(session, [spec], exit_code=False)
            job = _accepted(session, spec, key, verb="run", quiet=quiet)
            if detach:
                _show_accepted(session, job)
                return Exit.OK
        from standfast.cli import progress

        return progress.follow(session, job, pass_exit_code=pass_exit_code, quiet=quiet)


def submit(
    file: str | None = None,
    /,
    *,
    work: Work = AS_IT_IS,
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    identity: Identity = FRESH,
    everywhere: Everywhere = NOWHERE,
) -> int:
    """
    Submit a job and return once it is accepted and durable; its uid goes to stdout.

    Args:
        file: Manifest (.yaml, .json, - for stdin), or a program whose arguments stand behind --.
        dry_run: Say what would be sent, and send nothing.
    """
    with open_session(everywhere) as session:
        spec = work.spec(file, here=_here(session))
        if dry_run:
            return _planned(session, [spec], exit_code=False)
        _show_accepted(session, _accepted(session, spec, identity.chosen(), verb="submit", quiet=False))
        return Exit.OK


def apply(
    *,
    file: Annotated[str, Parameter(name=("--file", "-f"))],
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    everywhere: Everywhere = NOWHERE,
) -> int:
    """
    Submit every job of a manifest, each once: applying the same file again finds the same jobs.

    A job's request id is made from its name and everything that its document says, so a changed document is a new job.

    Args:
        file: Manifest with one or more documents of kind Job; - for stdin.
        dry_run: Say what would be sent, and send nothing.
    """
    with open_session(everywhere) as session:
        code = Exit.OK
        jobs: list[JobView] = []
        specs = manifests(file)
        if dry_run:
            return _planned(session, specs, exit_code=False)
        for spec in specs:
            try:
                jobs.append(_accepted(session, spec, spec.key, verb="apply", quiet=False))
            except ClientError as error:
                # The others are sent all the same: each document stands for itself; a second apply repairs the rest.
                session.terminal.say(f"{spec.name}:")
                problems.show(session.terminal, error, machine=False)
                code = problems.exit_of(error)
        if session.format.for_people:
            for job in jobs:
                session.terminal.print(job.uid)
        else:
            output.show_many(session.terminal, session.format, (job.snapshot for job in jobs))
        return code


def plan(
    file: str | None = None,
    /,
    *,
    manifest: Annotated[str | None, Parameter(name=("--file", "-f"))] = None,
    work: Work = AS_IT_IS,
    exit_code: Annotated[bool, Parameter(negative="")] = False,
    everywhere: Everywhere = NOWHERE,
) -> int:
    """
    Say what a submission would do: all of its checks, and the exact call to the engine. Nothing is sent to an engine.

    Each job of a manifest is told by itself, with a token: `standfast run --plan TOKEN` runs exactly that.

    Args:
        file: Manifest (.yaml, .json, - for stdin), or a program whose arguments stand behind --.
        manifest: The same, as a flag: a manifest of one or more jobs, as for apply.
        exit_code: Exit 12 instead of 0 if all is sound, since a submission would make a job.
    """
    with open_session(everywhere) as session:
        if manifest is not None and (file is not None or command_line.behind()):
            raise Quit(Exit.USAGE, f"-f {manifest} says what to plan; give nothing beside it")
        specs = work.specs(file if manifest is None else manifest, here=_here(session), manifest=manifest is not None)
        return _planned(session, specs, exit_code=exit_code)


def _planned(session: Session, specs: Sequence[Spec], *, exit_code: bool) -> int:
    told = []
    for spec in specs:
        planned = session.client.jobs.plan(spec)
        token = _kept(session, spec, planned)
        if session.format.for_people:
            for line in render.plan(session.terminal.data, planned, token=token):
                session.terminal.print(line)
        told.append({**msgspec.to_builtins(planned), "token": token})
    if not session.format.for_people:
        if len(told) == 1:
            output.show_one(session.terminal, session.format, told[0])
        else:
            output.show_many(session.terminal, session.format, told)
    return Exit.WOULD_CHANGE if exit_code else Exit.OK


def _kept(session: Session, spec: Spec, planned: answers.Plan) -> str | None:
    """
    The token under which the plan is kept; None, and a word about it, if it cannot be.
    """
    from standfast.cli import plans

    token = f"pl_{session.fresh_request_id()[:12]}"
    plan = plans.Plan(
        server=_whom(session),
        made_at=session.now(),
        name=spec.name,
        namespace=spec.namespace or session.settings.namespace,
        labels=spec.labels,
        key=spec.key,
        spec=spec.work,
        shown=plans.lasting(plans.shown(planned), plans.shown(session.client.jobs.plan(spec))),
    )
    try:
        plans.Plans(session.plans).keep(token, plan)
    except OSError as error:
        session.terminal.say(f"warning: the plan could not be kept, so it has no token: {error}")
        return None
    return token


def _as_planned(session: Session, token: str) -> Spec:
    """
    The work that the token stands for, once it is sure that the same would be done with it as was shown.
    """
    from standfast.cli import plans

    plan = plans.Plans(session.plans).find(token)
    if plan.server != _whom(session):
        raise Quit(
            Exit.CONFLICT,
            f"{token} was planned on {plan.server}, and this goes to {_whom(session)}; nothing was sent",
            name="plan_changed",
            hint="Choose the same control plane with --server or --context, or plan again.",
        )
    plans.demand_same(token, plan.shown, plans.shown(session.client.jobs.plan(plan.to_send)))
    return plan.to_send


def _whom(session: Session) -> str:
    return session.settings.server or f"embedded {session.client_folder}"


def _accepted(session: Session, spec: Spec, request_id: str | None, *, verb: str, quiet: bool) -> JobView:
    """
    The durable job; its request id was on disk before anything was sent.
    """
    key = request_id if request_id is not None else spec.key or session.fresh_request_id()
    session.intend(key, verb=verb, name=spec.name)
    talk = session.terminal.talk
    if not quiet:
        session.terminal.say(talk.paint(f"→ {session.where}   request {key}", "dim"))
    job = session.client.jobs.run(spec, key=key)
    session.journal.answered(key, job.uid)
    if not quiet:
        again = "it was there before" if job.replayed else "durable"
        session.terminal.say(f"{talk.paint(talk.plain('✓') + ' accepted', 'good')}    {job.uid} {job.name} ({again})")
    return job


def _show_accepted(session: Session, job: JobView) -> None:
    if session.format.for_people:
        session.terminal.print(job.uid)
    else:
        output.show_one(session.terminal, session.format, job.snapshot)


def _here(session: Session) -> Path | None:
    """
    This folder, if the control plane is on this machine and so can run something in it.
    """
    server = session.settings.server
    if server is None or (urlsplit(server).hostname or "") in ("127.0.0.1", "localhost", "::1"):
        return Path.cwd()
    return None
