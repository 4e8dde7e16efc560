"""
What one call of the command line leaves, for the tests of this folder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec


@dataclass(frozen=True)
class Result:
    """
    What one call left: its exit code and what it wrote.
    """

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """
        stdout as one document.
        """
        return msgspec.json.decode(self.out)


Cli = Callable[..., Result]
