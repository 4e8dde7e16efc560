"""
Needs more heap than its first attempt has: shows how out of memory is recognised, and answered with more memory.

Submit it with `resources: {memory_mib: 512}` and `retry: {max_attempts: 3, mitigate: {out_of_memory: {memory_factor:
4}}}`: the first attempt ends with code `oom.driver_heap`, the second has 2 GiB and succeeds.
"""

from __future__ import annotations

from pyspark.sql import SparkSession


def main() -> None:
    """
    Hold ten texts of 40 MB in the driver's JVM, and say how many there were.
    """
    spark = SparkSession.builder.getOrCreate()
    rows = spark.range(10, 20, 1, 2).selectExpr("repeat(cast(id as string), 20000000) as text")
    print(f"collected {len(rows._jdf.collectAsList()):,} rows")


if __name__ == "__main__":
    main()
