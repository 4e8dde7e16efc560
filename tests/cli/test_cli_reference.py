"""
Help, reference page, completion, and what a start may cost.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli_runner import Cli

from standfast.cli import reference
from standfast.cli.completion import job_names
from standfast.cli.exits import MEANINGS, Exit
from standfast.cli.main import build
from standfast.cli.verbs import VERBS
from standfast.client import Client, Spec

PAGE = Path(__file__).parents[2] / "docs/reference/cli.md"


def test_the_reference_page_is_current() -> None:
    """
    Written anew it is the same, byte for byte.
    """
    assert PAGE.read_text() == reference.markdown(), "run: python -m standfast.cli.reference > docs/reference/cli.md"


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_every_verb_and_flag_says_what_it_is(verb: object) -> None:
    """
    Each has a first sentence; each flag and argument has a meaning; each verb but `token` has an example.
    """
    app = build()[verb.name]  # type: ignore[attr-defined]
    names = [name for name in app if not name.startswith("-")]
    for command in [app[name] for name in names] or [app]:
        assert command.default_command.__doc__
        for argument in command.assemble_argument_collection(parse_docstring=True):
            if argument.show:
                assert (argument.parameter.help or "").strip().endswith((".", "N")), argument.name
    assert verb.examples or names  # type: ignore[attr-defined]


def test_examples_use_flags_that_exist() -> None:
    """
    Every flag in an example is one of its verb's.
    """
    app = build()
    for verb in (verb for verb in VERBS if verb.examples):
        known = {name for argument in app[verb.name].assemble_argument_collection() for name in argument.names}
        for example in verb.examples:
            mine = example.split(" -- ")[0].split(f"standfast {verb.name}", 1)[1].split(">")[0]
            assert set(re.findall(r"(?<= )--?[a-z][a-z-]*", mine)) <= known, example


def test_every_exit_code_has_its_meaning() -> None:
    """
    Code, table and page agree.
    """
    page = PAGE.read_text()

    assert set(MEANINGS) == set(Exit)
    assert all(f"| {int(code)} | " in page for code in Exit)


def test_the_overview_names_every_verb(cli: Cli) -> None:
    """
    `standfast`, `standfast --help`: stdout, exit 0.
    """
    for words in ((), ("--help",)):
        result = cli(*words)
        assert result.code == Exit.OK
        assert all(re.search(rf"^  {verb.name} ", result.out, re.M) for verb in VERBS)
    assert "Examples:" in cli("cancel", "--help").out


@pytest.mark.parametrize(
    ("words", "kept_out"),
    [
        (("--help",), ("httpx2", "uvicorn", "starlette", "yaml", "rich", "apsw", "asyncio")),
        (("get", "jobs", "--server", "http://127.0.0.1:9"), ("uvicorn", "starlette", "yaml", "rich", "apsw")),
    ],
)
def test_a_start_imports_only_what_it_needs(words: tuple[str, ...], kept_out: tuple[str, ...]) -> None:
    """
    Start-up time is imports; heavy ones come with the verbs that need them.
    """
    code = (
        "import sys; from standfast.cli.main import call; call(sys.argv[1:]);"
        "print(','.join(sorted({name.partition('.')[0] for name in sys.modules})), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        env={"STANDFAST_RETRY_FOR_S": "0", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    imported = set(done.stderr.splitlines()[-1].split(","))

    assert not imported & set(kept_out)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_know_the_verbs(cli: Cli, shell: str) -> None:
    """
    Verbs and flags are in the script.
    """
    script = cli("completion", shell).out

    assert all(verb.name in script for verb in VERBS)
    assert "request-id" in script and "standfast" in script


def test_the_bash_script_is_bash(cli: Cli, tmp_path: Path) -> None:
    """
    A shell reads it without complaint.
    """
    script = tmp_path / "standfast.bash"
    script.write_text(cli("completion", "bash").out)

    subprocess.run(["bash", "-n", str(script)], check=True)


def test_job_names_are_completed(cli: Cli, sf: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The newest names with their phases; silence, not an error, when nobody answers.
    """
    sf.jobs.run(Spec.fake(name="completed-name")).wait(timeout=20)
    assert ("completed-name", "succeeded") in job_names(None)
    assert "completed-name\tsucceeded" in cli("__complete", "describe", "job", "comp").out
    monkeypatch.setenv("STANDFAST_SERVER", "http://127.0.0.1:9")
    assert job_names(None) == []
