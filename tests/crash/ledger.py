"""
The ledger: a file that the jobs themselves append to, the only witness of what really ran.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path


class Ledger:
    """
    Lines `HANDLE WORD`, appended by jobs with O_APPEND.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def noted(self, word: str) -> Counter[str]:
        """
        How often each handle noted the word.
        """
        lines = [line.split() for line in self.path.read_text().splitlines()]
        return Counter(handle for handle, said in lines if said == word)

    def script(self, rest: str = "") -> list[str]:
        """
        A command that notes its start, does the rest, and notes its end.
        """
        note = f'echo "$STANDFAST_ATTEMPT_ID %s" >> {self.path}'
        return ["sh", "-c", f"{note % 'start'}; {rest or ':'}; {note % 'end'}"]
