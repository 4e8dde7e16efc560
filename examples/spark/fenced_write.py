"""
Write a result so that a second attempt can neither damage nor double it.

Each attempt writes to a folder of its own, named by its handle, and publishes it by one rename that only the first
wins. Argument: the folder to publish. Standfast gives each attempt STANDFAST_ATTEMPT_ID.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from pyspark.sql import SparkSession


def main() -> None:
    """
    Compute, write aside, publish.
    """
    published = Path(sys.argv[1])
    handle = os.environ.get("STANDFAST_ATTEMPT_ID", "by-hand")
    aside = published.with_name(f"{published.name}.{handle}")
    spark = SparkSession.builder.getOrCreate()
    squares = spark.range(1, 1001).selectExpr("id", "id * id as square")
    squares.write.mode("overwrite").parquet(aside.as_uri())
    try:
        # Fails if the target is there and not empty, so a later attempt changes nothing.
        aside.rename(published)
    except OSError:
        shutil.rmtree(aside)
        print(f"{published} was published by an earlier attempt; nothing was changed")
        return
    print(f"published {published} by {handle}")


if __name__ == "__main__":
    main()
