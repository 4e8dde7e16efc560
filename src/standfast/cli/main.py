"""
The command `standfast`, and what becomes of whatever goes wrong in it.

Belongs here: the way from words to a verb, the application of all verbs, and the one place that turns an error into
words on stderr and an exit code. Not here: the list of verbs (`verbs`), or what a verb does; its module is imported
when it is called, and the parser when there is something to parse.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from standfast.cli import command_line
from standfast.cli.exits import Exit, Quit
from standfast.cli.verbs import VERBS, overview

if TYPE_CHECKING:
    from cyclopts import App, CycloptsError

    from standfast.cli.terminal import Terminal

TAKE_WORDS = ("run", "submit", "plan")
"""Verbs for which the words behind `--` are the job's own."""


def build() -> App:
    """
    The application with every verb, none of them imported yet.
    """
    from cyclopts import App, Group, Parameter

    from standfast import __version__

    app = App(
        name="standfast",
        help="\n".join(overview()),
        version=__version__,
        help_format="plaintext",
        help_formatter="plain",
        default_parameter=Parameter(show_default=False),
        result_action="return_value",
        print_error=False,
        exit_on_error=False,
    )
    groups = {verb.group: Group(verb.group.name, sort_key=verb.group.place) for verb in VERBS}
    for verb in VERBS:
        path = f"standfast.cli.{verb.function}"
        if verb.function.endswith(":app"):
            app.command(path, name=verb.name, group=groups[verb.group])
        else:
            epilogue = "\n".join(("Examples:", *(f"  {example}" for example in verb.examples)))
            app.command(
                path,
                name=verb.name,
                group=groups[verb.group],
                help_epilogue=epilogue,
                help_format="plaintext",
                help_formatter="plain",
            )
    return app


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """
    Run one verb and leave with its exit code.
    """
    code = call(list(sys.argv[1:] if argv is None else argv))
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = _closed_pipe(code)
    sys.exit(int(code))


def call(words: list[str]) -> int:
    """
    Run one verb; its exit code. Nothing is raised but what is a bug of ours.
    """
    words, passing = command_line.split(words)
    try:
        if command_line.behind() is not None and words[:1] and words[0] not in TAKE_WORDS:
            raise Quit(Exit.USAGE, f"{words[0]} takes nothing behind --", hint=_help_hint(words))
        if not words or words[0] in ("--help", "-h", "help"):
            terminal = _terminal()
            for line in overview():
                terminal.print(line)
            return Exit.OK
        return _run(words)
    except Quit as error:
        return _told(error, words, passing)
    except KeyboardInterrupt:
        return Exit.DETACHED
    except BrokenPipeError:
        return _closed_pipe(Exit.OK)
    except Exception as error:
        from standfast.client.errors import ClientError
        from standfast.core.errors import StandfastError

        if isinstance(error, ClientError | StandfastError):
            return _told(error, words, passing)
        raise


def _run(words: Sequence[str]) -> int:
    """
    Run the verb of these words; a control plane whose flags are plain starts without the parser.

    Raises:
        Quit: The words are not understood, or the verb ends so.
    """
    if words[0] == "serve":
        from standfast.cli import foreground

        given = foreground.plain(words[1:])
        if given is not None:
            return foreground.run(**given)

    from cyclopts import CycloptsError

    try:
        return int(build()(words) or 0)
    except CycloptsError as error:
        raise Quit(Exit.USAGE, _sentence(error), hint=_help_hint(words)) from error


def _told(error: Any, words: Sequence[str], passing: bool) -> int:
    """
    Say the error on stderr, in the form that was asked for, and give its exit code.
    """
    from standfast.cli.problems import show

    code = show(_terminal(), error, machine=command_line.wants_json(words))
    return Exit.OURS if passing else code


def _terminal() -> Terminal:
    from standfast.cli.terminal import Terminal

    return Terminal()


def _sentence(error: CycloptsError) -> str:
    text = " ".join(str(error).split())
    return text[:1].lower() + (text[1:] if text.endswith("...") else text[1:].removesuffix("."))


def _help_hint(words: Sequence[str]) -> str:
    names = {verb.name for verb in VERBS}
    named = next((word for word in words[:1] if word in names), None)
    return f"standfast {named} --help" if named else "standfast --help"


def _closed_pipe(code: int) -> int:
    """
    The reader of our output has gone, as `| head` does; say nothing more.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code
