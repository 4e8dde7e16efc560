"""
The pages of the documentation as tests read them: their fenced blocks and their links.

Belongs here: finding things in Markdown. Not here: what must be true of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


class Block(NamedTuple):
    """
    One fenced block: its language, its text, and the line of the page on which that begins.
    """

    kind: str
    text: str
    line: int


def pages() -> list[Path]:
    """
    Every page, and the files at the top of the repository that are documentation too.
    """
    return sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")])


def name_of(page: Path) -> str:
    """
    The page as a test's name.
    """
    return str(page.relative_to(ROOT))


def blocks(page: Path, *kinds: str) -> Iterator[Block]:
    """
    The page's fenced blocks of these languages.
    """
    text = page.read_text()
    for found in _FENCE.finditer(text):
        if found[1] in kinds:
            yield Block(found[1], found[2], text.count("\n", 0, found.start(2)) + 1)


def links(page: Path) -> Iterator[str]:
    """
    The page's links that stay in the repository.
    """
    for target in _LINK.findall(_FENCE.sub("", page.read_text())):
        if "://" not in target and not target.startswith("mailto:"):
            yield target


def anchors(page: Path) -> set[str]:
    """
    The names of the page's headings, as GitHub makes them.
    """
    heads = re.findall(r"^#+ +(.*)$", _FENCE.sub("", page.read_text()), re.MULTILINE)
    return {"".join(c for c in head.lower() if c.isalnum() or c in " -_").replace(" ", "-") for head in heads}
