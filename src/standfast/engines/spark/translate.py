"""
What Spark's own texts add to the findings of an ended process; pure.

Belongs here: reading exceptions, conditions and SQLSTATEs out of output, and joining what the JVM and the Python driver
each say. Not here: reading files (`engine`), or what the facts mean (`rules`).

A PySpark driver is two processes. spark-submit's JVM gives the exit status; the Python beside it writes the receipt.
When the JVM dies first, the receipt tells only that the connection broke, or that the keeper told Python to go: then
the exit status says why, and is joined to the receipt's symptoms. Output is read only next to an exception that Spark's
JVM raised, so that words which a program merely prints mean nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from standfast.core.failure import Rule, Symptoms, classify
from standfast.core.job.evidence import Ending, Finding, Rank
from standfast.core.job.observation import Ended

TEXT_MAX = 2000

GATEWAY = frozenset({"Py4JError", "Py4JNetworkError", "Py4JJavaError"})
"""Exceptions of the bridge between Python and the JVM: what went wrong is known on the other side."""

_CLASS = r"(?:[a-z_]\w*\.)+[A-Z][\w$]*"
_THROWN = re.compile(rf'^(?:Exception in thread "[^"]*" |Caused by: |: )({_CLASS})(?:: (.*))?$', re.MULTILINE)
_UNCAUGHT = re.compile(rf"ERROR SparkUncaughtExceptionHandler: .*\n({_CLASS})(?:: (.*))?$", re.MULTILINE)
_RAISED = re.compile(
    r"\ATraceback \(most recent call last\):\n(?:[ \t].*\n|\n)*([A-Za-z_][\w.]*)(?::\s*(.*))?$", re.MULTILINE
)
_CONDITION = re.compile(r"^\[([A-Z][A-Z0-9_]*(?:\.[A-Z][A-Z0-9_]*)*)\]")
_SQLSTATE = re.compile(r"SQLSTATE: ([0-9A-Z]{5})")
_LOGGED = re.compile(
    r"^(?:\d\d/\d\d/\d\d \d\d:\d\d:\d\d (?:INFO|DEBUG|WARN|ERROR) |\s*at \S+\(|"
    r"WARNING: Using incubator modules|Using Spark's default log4j profile|Setting default log level|To adjust logging)"
)
_INSIDE = re.compile(rf": ({_CLASS})(?=: | |$)")
_REASON = re.compile(r"ERROR \w+: Application has been killed\. Reason: (.+)")
_REFUSED = re.compile(r"^(?:\S+ \S+ ERROR SparkSubmit: |Error: )(.+)$", re.MULTILINE)


class Output(msgspec.Struct, frozen=True):
    """
    The ends of both streams. PySpark's tracebacks are on spark-submit's stdout, the JVM's log is on stderr.
    """

    stdout: str = ""
    stderr: str = ""


class Thrown(msgspec.Struct, frozen=True):
    """
    What a printed stack trace says: class names outermost first, first message, and Spark's own typed error.
    """

    classes: tuple[str, ...] = ()
    message: str = ""
    condition: str | None = None
    sqlstate: str | None = None

    @property
    def headline(self) -> str:
        """
        What a person would quote: class and message of the first exception; empty when there is none.
        """
        name = self.classes[0].rpartition(".")[2] if self.classes else ""
        return ": ".join(part for part in (name, self.message) if part)


def sharpen(ended: Ended, output: Output, rules: Sequence[Rule]) -> Ended:
    """
    The same end, every failed finding with Spark's facts in its symptoms, and classified by them.
    """
    status = next((f for f in ended.findings if f.rank is Rank.EXIT_STATUS and f.ending is Ending.FAILED), None)
    seen = None if status is None or status.symptoms is None else from_output(status.symptoms, output)
    findings = []
    for found in ended.findings:
        match found:
            case Finding(rank=Rank.RECEIPT, ending=Ending.FAILED, symptoms=Symptoms() as told):
                findings.append(_judged(found, joined(told, seen, output), rules))
            case Finding(rank=Rank.RECEIPT, ending=Ending.TERMINATED) if seen is not None and not ended.stopped:
                # Nobody asked us to stop it: the JVM went first, and the keeper then told Python to go.
                failure = classify(rules, seen)
                findings.append(msgspec.structs.replace(found, failure=failure, symptoms=seen))
            case Finding(rank=Rank.EXIT_STATUS, ending=Ending.FAILED) if seen is not None:
                findings.append(_judged(found, seen, rules))
            case Finding(symptoms=Symptoms() as told) if found.failure is not None:
                findings.append(_judged(found, told, rules))
            case _:
                findings.append(found)
    return msgspec.structs.replace(ended, findings=tuple(findings))


def joined(told: Symptoms, status: Symptoms | None, output: Output) -> Symptoms:
    """
    A receipt's symptoms, with what the JVM said where the receipt can only point at it.

    The exit status is joined when Python alone would have ended otherwise: an exception ends Python with 1.
    """
    if GATEWAY.isdisjoint(_short(told.exceptions)):
        return told
    printed = _beyond_the_gateway(output.stdout)
    # Output may be gone or cut, and then the first words of the message, which the receipt keeps, must do.
    inside = _INSIDE.findall(told.text or "")
    reason = _REASON.findall(output.stderr)
    said = [told.text or "", printed.headline, *reason[-1:]]
    known = msgspec.structs.replace(
        told,
        exceptions=tuple(dict.fromkeys((*told.exceptions, *inside, *printed.classes))),
        condition=told.condition or printed.condition,
        sqlstate=told.sqlstate or printed.sqlstate,
        text="\n".join(part for part in said if part)[-TEXT_MAX:] or None,
    )
    if status is None or status.exit_code == 1:
        return known
    last = (status.text or "").rpartition("\n")[2] if status.exceptions else ""
    return msgspec.structs.replace(
        known,
        exit_code=status.exit_code,
        signal=status.signal,
        word=status.word or known.word,
        text=f"{known.text or ''}\n{last}".strip()[-TEXT_MAX:] or None,
    )


def from_output(status: Symptoms, output: Output) -> Symptoms:
    """
    An exit status with the exception that was printed last, of the JVM or else of Python.

    text: the lines of stderr that are no log, and last the one that a person would quote.
    """
    found = _last_exception(output)
    refused = _REFUSED.findall(output.stderr)
    said = [line for line in output.stderr.splitlines() if line.strip() and not _LOGGED.match(line)]
    headline = found.headline or (refused[-1] if refused else said.pop() if said else "")
    context = "\n".join(said)[-(TEXT_MAX - len(headline[:500]) - 1) :]
    return msgspec.structs.replace(
        status,
        exceptions=found.classes,
        condition=found.condition,
        sqlstate=found.sqlstate,
        text=f"{context}\n{headline[:500]}".strip() or None,
    )


def _last_exception(output: Output) -> Thrown:
    """
    What ended the main thread of the JVM, or another thread and so the JVM; else what ended Python.
    """
    at = output.stderr.rfind('Exception in thread "main"')
    found = thrown(output.stderr[at:], _THROWN) if at >= 0 else Thrown()
    if found.classes and not found.classes[0].endswith("SparkUserAppException"):
        return found
    uncaught = thrown(output.stderr, _UNCAUGHT)
    if uncaught.classes:
        return uncaught
    at = output.stdout.rfind("Traceback (most recent call last):\n")
    found = thrown(output.stdout[at:], _RAISED) if at >= 0 else Thrown()
    if not found.classes or GATEWAY.isdisjoint(_short(found.classes)):
        return found
    behind = _beyond_the_gateway(output.stdout[at:])
    return msgspec.structs.replace(behind, classes=(*found.classes, *behind.classes)) if behind.classes else found


def _beyond_the_gateway(text: str) -> Thrown:
    """
    The JVM's exceptions under the last Py4J error that was printed.
    """
    at = max(text.rfind(f"{name}: ") for name in GATEWAY)
    return thrown(text[at:], _THROWN) if at >= 0 else Thrown()


def thrown(text: str, pattern: re.Pattern[str]) -> Thrown:
    """
    The exceptions of one printed trace; the first one with a typed error gives condition and SQLSTATE.
    """
    links = [(found[1], found[2] or "") for found in pattern.finditer(text)]
    typed = next((message for _, message in links if _CONDITION.match(message)), "")
    condition, state = _CONDITION.match(typed), _SQLSTATE.search(typed) or _SQLSTATE.search(text)
    return Thrown(
        classes=tuple(dict.fromkeys(name for link, message in links for name in (link, *_INSIDE.findall(message))))[
            :20
        ],
        message=links[0][1][:1000] if links else "",
        condition=condition[1] if condition else None,
        sqlstate=state[1] if state and condition else None,
    )


def _judged(found: Finding, seen: Symptoms, rules: Sequence[Rule]) -> Finding:
    return msgspec.structs.replace(found, symptoms=seen, failure=classify(rules, seen))


def _short(names: Sequence[str]) -> set[str]:
    return {name.rpartition(".")[2] for name in names}
