"""
Rules of style that a linter does not know: homes for lines, manifestos, no leftovers.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import standfast

ROOT = Path(standfast.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
HOMELESS = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "service"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_module_says_what_belongs_there(path: Path) -> None:
    """
    Every module opens with a docstring, and none is named for having no home.
    """
    assert (ast.get_docstring(ast.parse(path.read_text())) or "").strip()
    assert path.stem not in HOMELESS


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_public_names_carry_a_docstring(path: Path) -> None:
    """
    Every public class and function says what it promises.
    """
    silent = [
        node.name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and ast.get_docstring(node) is None
        and not _nested(path, node)
    ]

    assert silent == []


def _nested(path: Path, node: ast.AST) -> bool:
    """
    Whether the definition is inside a function, where it is nobody's business.
    """
    tree = ast.parse(path.read_text())
    for outer in ast.walk(tree):
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef):
            for inner in ast.walk(outer):
                if inner is not outer and getattr(inner, "lineno", None) == getattr(node, "lineno", -1):
                    return True
    return False


def test_nothing_is_left_over() -> None:
    """
    No marker of unfinished work is in the product.
    """
    marker = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|NotImplementedError")

    assert [str(path) for path in FILES if marker.search(path.read_text())] == []
