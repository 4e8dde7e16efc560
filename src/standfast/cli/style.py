"""
How state looks on a terminal: one glyph and one word for each phase, the colour only an extra.

Belongs here: glyphs, their ASCII twins, colours. Not here: whether colour is wanted (`terminal`).
"""

from __future__ import annotations

from dataclasses import dataclass

PHASE_GLYPHS = {
    "queued": "○",
    "launching": "●",
    "running": "●",
    "stopping": "●",
    "backing_off": "↻",
    "suspended": "‖",
    "uncertain": "?",
    "succeeded": "✓",
    "failed": "✗",
    "cancelled": "⊘",
}

VERDICT_GLYPHS = {"proven": "✓", "refuted": "✗", "unknown": "?", "not_checked": "·"}

ASCII = str.maketrans(
    {
        "✓": "v",
        "✗": "x",
        "●": "*",
        "○": "o",
        "↻": "~",
        "‖": "=",
        "⊘": "-",
        "·": ".",
        "→": "->",
        "…": "...",
        "∞": "inf",
        "–": "-",
    }
)

_COLOURS = {
    "queued": "90",
    "suspended": "90",
    "launching": "34",
    "running": "34",
    "stopping": "33",
    "backing_off": "33",
    "uncertain": "35",
    "succeeded": "36",
    "failed": "31",
    "cancelled": "90",
    "proven": "36",
    "refuted": "31",
    "unknown": "35",
    "not_checked": "90",
    "dim": "90",
    "strong": "1",
    "bad": "31",
    "good": "36",
    "warn": "33",
}


@dataclass(frozen=True)
class Style:
    """
    What one stream can show.
    """

    colour: bool = False
    unicode: bool = True

    def glyph(self, word: str) -> str:
        """
        The sign of a phase or verdict; a word we do not know yet gets a neutral one.
        """
        return self.plain(PHASE_GLYPHS.get(word) or VERDICT_GLYPHS.get(word) or "·")

    def state(self, word: str) -> str:
        """
        Glyph and word of a phase or verdict, coloured if that is wanted.
        """
        return self.paint(f"{self.glyph(word)} {word.replace('_', ' ')}", word)

    def paint(self, text: str, kind: str) -> str:
        """
        The text in the colour of `kind`, or as it is.
        """
        code = _COLOURS.get(kind)
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and code else text

    def plain(self, text: str) -> str:
        """
        The text in characters that the stream can show.
        """
        return text if self.unicode else text.translate(ASCII)
