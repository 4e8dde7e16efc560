"""
Tell the stories of some seeds: `python -m standfast.testing.simulation SEED [COUNT] [--trace]`.
"""

from __future__ import annotations

import argparse
import sys

from standfast.testing.simulation.story import tell


def main() -> int:
    """
    Run the seeds; print each violation with the way to see it again, and exit 1 if there was one.
    """
    parser = argparse.ArgumentParser(prog="python -m standfast.testing.simulation")
    parser.add_argument("seed", type=int)
    parser.add_argument("count", type=int, nargs="?", default=1)
    parser.add_argument("--trace", action="store_true", help="print all that happened")
    asked = parser.parse_args()
    bad = 0
    for seed in range(asked.seed, asked.seed + asked.count):
        report = tell(seed)
        bad += not report.good
        if asked.trace:
            print("\n".join(report.trace))
        if not report.good or asked.count == 1:
            print(report.summary)
    if asked.count > 1:
        print(f"{asked.count} seeds from {asked.seed}: {bad} bad")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
