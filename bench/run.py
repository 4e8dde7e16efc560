"""
The benchmark: `make bench`, or `python bench/run.py --only a,b --scale 0.3 --rounds 5`.

Belongs here: which rows are run, in which order, and where the page goes. Rows alternate in shuffled order, each in a
process and a folder of its own; nothing listens beyond the loopback, and no round may take longer than a quarter of an
hour. All of it takes about 20 minutes on two quiet cores.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
from pathlib import Path

import finish
import footprint
import listing
import machine
import regain
import report
import start
import submit
from measure import Contender, Round, run_round

PAGE = Path(__file__).parents[1] / "docs" / "internals" / "benchmarks.md"


def contenders(only: set[str], scale: float, stored: float) -> list[Contender]:
    """
    The rows of the chosen workloads. scale: part of the full size of a to c; stored: of d to g.
    """

    def size(full: int, part: float = scale) -> int:
        return max(100, round(full * part / 100) * 100)

    rows = [
        *submit.contenders(size(10_000)),
        *finish.contenders(size(10_000), size(1_000)),
        *start.contenders(size(200)),
        *regain.contenders(size(10_000, stored), size(1_000, stored)),
        *footprint.contenders(size(100_000, stored), size(1_000, stored)),
        *listing.contenders(size(1_000_000, stored)),
    ]
    return [row for row in rows if row.workload in only]


def main() -> int:
    """
    Run, print, write; 0 if every round's audit held.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="a,b,c,d,f,g", help="workloads, separated by commas")
    parser.add_argument("--match", default="", help="only rows whose name has this in it")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="part of the full size of a, b, c")
    parser.add_argument("--stored", type=float, default=1.0, help="part of the full size of d, f, g")
    parser.add_argument("--seed", type=int, default=1, help="of the order of rows")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="on the disk to be measured")
    parser.add_argument("--page", type=Path, default=PAGE, help="where the page is written; - for nowhere")
    given = parser.parse_args()

    rows = [row for row in contenders(set(given.only.split(",")), given.scale, given.stored) if given.match in row.name]
    results: dict[Contender, list[Round]] = {row: [] for row in rows}
    order, probes = random.Random(given.seed), []
    for number in range(given.rounds):
        todo = [row for row in rows if row.rounds is None or number < row.rounds]
        order.shuffle(todo)
        for row in todo:
            folder = Path(tempfile.mkdtemp(prefix="standfast-bench-", dir=given.folder))
            try:
                probes += machine.probe(folder, times=50)
                done = run_round(row, folder)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            results[row].append(done)
            told = ", ".join(f"{name} {report.shown(value)}" for name, value in list(done.figures.items())[:4])
            print(f"{number + 1}/{given.rounds} {row.workload} {row.name}: {told or done.audit}", flush=True)
    facts = machine.described(probes)
    command = "python bench/run.py" + "".join(f" {word}" for word in sys.argv[1:])
    text = report.page(results, facts, "make bench" if len(sys.argv) == 1 else command)
    print("\n" + text)
    if str(given.page) != "-":
        given.page.write_text(text)
    return 0 if all(one.sound for rounds in results.values() for one in rounds) else 1


if __name__ == "__main__":
    sys.exit(main())
