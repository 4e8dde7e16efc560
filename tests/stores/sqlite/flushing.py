"""
The two ways of a COMMIT.
"""

from __future__ import annotations

import math

WAYS = {"thread": (10**9, 0.0), "loop": (0, math.inf)}
"""What `committer.WARY` and `committer.QUICK_S` must be for every COMMIT to go that way."""
