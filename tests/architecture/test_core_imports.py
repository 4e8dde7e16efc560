"""
The core imports nothing but itself, msgspec, RE2, and a short list of pure modules.
"""

from __future__ import annotations

import ast
from pathlib import Path

import standfast.core

ALLOWED = {
    "__future__",
    "collections",
    "collections.abc",
    "datetime",
    "enum",
    "functools",
    "hashlib",
    "msgspec",
    "re",
    "re2",
    "typing",
}
ROOT = Path(standfast.core.__file__).parent


def imported(path: Path) -> set[str]:
    """
    The modules that a file names in its import statements.
    """
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def test_core_imports_only_what_is_allowed() -> None:
    """
    No clock, randomness, I/O or async can reach the core, because nothing that offers them is imported.
    """
    foreign = {
        (path.name, name)
        for path in ROOT.rglob("*.py")
        for name in imported(path)
        if name not in ALLOWED and not name.startswith("standfast.core")
    }

    assert foreign == set()
