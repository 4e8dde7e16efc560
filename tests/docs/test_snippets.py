"""
What the pages show is true: Python runs, commands are understood, files are readable, links lead somewhere.
"""

from __future__ import annotations

import json
import shlex
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cyclopts
import msgspec
import pytest
from pages import Block, anchors, blocks, links, name_of, pages

from standfast.cli.command_line import split
from standfast.cli.main import build
from standfast.core.job.spec import Spec, check
from standfast.manifests import native
from standfast.settings import Settings
from standfast.testing.server import FakeServer
from standfast.wire import yaml

WITH_PYTHON = [page for page in pages() if any(blocks(page, "python"))]
WITH_COMMANDS = [page for page in pages() if any(blocks(page, "sh", "console"))]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
def test_python_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The Python blocks of a page, one after the other in one namespace, against a control plane with real processes.
    """
    monkeypatch.chdir(tmp_path)
    with FakeServer(engines=("process", "fake"), state_dir=str(tmp_path / "state")) as server:
        monkeypatch.setenv("STANDFAST_SERVER", server.url)
        namespace: dict[str, Any] = {"__name__": page.stem.replace("-", "_")}
        for block in blocks(page, "python"):
            # Lines of a traceback are those of the page.
            exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), namespace)
        for value in namespace.values():
            if hasattr(value, "close") and type(value).__module__.startswith("standfast.client"):
                value.close()


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name_of)
def test_commands_are_understood(page: Path) -> None:
    """
    Every `standfast …` line in a block of shell has a verb, flags and values that the command line takes.
    """
    app = build()
    for number, words in _commands(page):
        try:
            app.parse_args(words, exit_on_error=False, print_error=False)
        except cyclopts.CycloptsError as error:
            pytest.fail(f"{name_of(page)}:{number}: standfast {shlex.join(words)}\n{error}")


def _commands(page: Path) -> Iterator[tuple[int, list[str]]]:
    for block in blocks(page, "sh", "console"):
        for number, line in _lines(block):
            command = line.removeprefix("$ ").removeprefix("uid=$(").strip()
            if command.startswith("standfast "):
                words, _ = split(_words(command))
                yield number, words[1:]


def _lines(block: Block) -> Iterator[tuple[int, str]]:
    """
    Lines with those that a backslash continues.
    """
    begun, so_far = block.line, ""
    for number, line in enumerate(block.text.splitlines(), block.line):
        begun = number if not so_far else begun
        so_far += line.removesuffix("\\")
        if not line.endswith("\\"):
            yield begun, so_far
            so_far = ""


def _words(command: str) -> list[str]:
    """
    The words of the first simple command.
    """
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    for word in lexer:
        if set(word) <= set("();<>|&"):
            break
        words.append(word)
    return words


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_documents_can_be_read(page: Path) -> None:
    """
    A block of YAML is a manifest or part of a spec that would be accepted; `[server]` of TOML has settings that exist.
    """
    for block in blocks(page, "yaml"):
        if "apiVersion:" in block.text:
            specs = [manifest.spec for manifest in native.parse(block.text)]
        else:
            part = yaml.decode(textwrap.dedent(block.text).encode())
            specs = [msgspec.convert(part, Spec)]
        assert [wrong for spec in specs for wrong in check(spec)] == [], f"line {block.line}"
    for block in blocks(page, "toml"):
        table = tomllib.loads(block.text).get("server")
        if table is not None:
            msgspec.convert(table, Settings)
    for block in blocks(page, "json"):
        json.loads(block.text)


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    """
    Every link into the repository is to a file that is there, and to a heading that it has.
    """
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), link
