"""
One round of one contender: runs the named function and prints its figures with the CPU time and memory they cost.

Belongs here: only that. `python bench/round.py MODULE FUNCTION '{"folder": ...}'`
"""

from __future__ import annotations

import importlib
import json
import resource
import sys


def spent(who: int) -> tuple[float, float]:
    """
    CPU seconds and peak RSS in MB of this process or its ended children.
    """
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main(module: str, function: str, given: str) -> None:
    """
    A round whose figures do not name their own CPU and memory gets those of this process and its children.
    """
    figures, audit = getattr(importlib.import_module(module), function)(**json.loads(given))
    own_s, own_mb = spent(resource.RUSAGE_SELF)
    children_s, children_mb = spent(resource.RUSAGE_CHILDREN)
    figures.setdefault("CPU s", own_s + children_s)
    figures.setdefault("RSS MB", max(own_mb, children_mb))
    print(json.dumps({"figures": figures, "audit": audit}))


if __name__ == "__main__":
    main(*sys.argv[1:])
