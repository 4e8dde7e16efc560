"""
The verbs of the command line: where each is, what it is for in a few words, and examples.

Belongs here: the table, and the overview that `standfast --help` prints from it without importing any of them. Not
here: what a verb does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Section(NamedTuple):
    """
    Verbs that belong together in the help, and the place of the section in it.
    """

    name: str
    place: int


WORK = Section("Run work", 1)
SEE = Section("See what is the case", 2)
CHANGE = Section("Change it", 3)
OPERATE = Section("Operate", 4)


class Verb(NamedTuple):
    """
    One verb: where its function is, what it does in a few words, its place in the help, examples that work as they are.
    """

    name: str
    function: str
    summary: str
    group: Section
    examples: tuple[str, ...]


VERBS = (
    Verb(
        "run",
        "submit:run",
        "submit a job and follow it to its end",
        WORK,
        (
            "standfast run -- sh -c 'echo hello'",
            "standfast run --name orders --key orders-2026-11-30 --retries 2 etl.py -- --day 2026-11-30",
            "standfast run --engine spark etl.py -- --day 2026-11-30",
            "standfast run --plan pl_3f9c01d2ab47",
            "standfast run --attach orders",
        ),
    ),
    Verb(
        "submit",
        "submit:submit",
        "submit a job, print its uid",
        WORK,
        ("standfast submit -- ./nightly.sh", "standfast submit --key k1 job.yaml"),
    ),
    Verb(
        "apply",
        "submit:apply",
        "submit every job of a manifest, each once",
        WORK,
        ("standfast apply -f jobs.yaml", "cat jobs.yaml | standfast apply -f -"),
    ),
    Verb(
        "plan",
        "submit:plan",
        "say what a submission would do; change nothing",
        WORK,
        ("standfast plan job.yaml", "standfast plan -f jobs.yaml", "standfast plan --exit-code -- ./etl.sh"),
    ),
    Verb(
        "get",
        "look:get",
        "list jobs, attempts, engines",
        SEE,
        (
            "standfast get jobs --phase '!succeeded'",
            "standfast get jobs -l team=payments -o json",
            "standfast get jobs --phase running -w",
            "standfast get attempts orders",
        ),
    ),
    Verb("describe", "look:describe", "the facts about one job on one screen", SEE, ("standfast describe job orders",)),
    Verb(
        "explain",
        "look:explain",
        "why it is so, and what would settle it",
        SEE,
        ("standfast explain orders", "standfast explain phase uncertain"),
    ),
    Verb(
        "events",
        "follow:events",
        "what happened, in order",
        SEE,
        ("standfast events orders -f", "standfast events --since 1h"),
    ),
    Verb(
        "logs",
        "follow:logs",
        "output, tagged by attempt",
        SEE,
        ("standfast logs orders -f", "standfast logs orders@1 --stream stderr --tail 20"),
    ),
    Verb(
        "wait",
        "follow:wait",
        "return when jobs are as wished, or cannot be",
        SEE,
        ("standfast wait orders --for done --timeout 1h", "standfast wait orders --for phase=running"),
    ),
    Verb("cancel", "change:cancel", "end jobs", CHANGE, ("standfast cancel orders --reason 'wrong day' --wait",)),
    Verb("suspend", "change:suspend", "stop jobs until resumed", CHANGE, ("standfast suspend orders --wait",)),
    Verb(
        "resume", "change:resume", "let suspended jobs wait for their turn again", CHANGE, ("standfast resume orders",)
    ),
    Verb(
        "retry",
        "change:retry",
        "a new job like a finished one",
        CHANGE,
        ("standfast retry orders --set resources.memory_mib=8192",),
    ),
    Verb(
        "resolve",
        "change:resolve",
        "settle an uncertain job by a person's word",
        CHANGE,
        ("standfast resolve orders --as absent --because 'looked at the host: no such process'",),
    ),
    Verb("delete", "change:delete", "remove finished jobs for good", CHANGE, ("standfast delete orders -y",)),
    Verb(
        "serve",
        "serve:serve",
        "run a control plane",
        OPERATE,
        ("standfast serve", "standfast serve --listen 0.0.0.0:8350 --tokens-file tokens.json"),
    ),
    Verb("doctor", "doctor:doctor", "examine the control plane and the way to it", OPERATE, ("standfast doctor",)),
    Verb("token", "tokens:app", "create, list, revoke tokens", OPERATE, ()),
    Verb(
        "completion",
        "completion:completion",
        "a completion script for your shell",
        OPERATE,
        ("standfast completion bash > ~/.local/share/bash-completion/completions/standfast",),
    ),
    Verb("version", "doctor:version", "what is installed", OPERATE, ("standfast version",)),
)

TOPICS = """\
REF is a job's name (its newest job), its uid, or a unique beginning of the uid; REF@2 names attempt 2.
stdout is data, stderr is talk. Exit codes: 0 as asked, 2 nothing was sent, 6 no answer and safe to send again,
7 waited long enough, 8 job failed, 9 job cancelled, 10 job uncertain. All of them: docs/reference/cli.md."""


def overview() -> Iterator[str]:
    """
    The help of the command as a whole.
    """
    yield "standfast VERB [REF …] [flags]        standfast VERB --help tells more"
    yield ""
    yield "Submit work once; it runs once, survives restarts of everything around it, and says why it is so."
    group = None
    for verb in VERBS:
        if verb.group is not group:
            group = verb.group
            yield from ("", group.name)
        yield f"  {verb.name:<12}{verb.summary}"
    yield ""
    yield from TOPICS.splitlines()
