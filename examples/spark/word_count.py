"""
Count words: the smallest Spark job that has a shuffle. Arguments: a text file, and how many words to print.
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as f


def main() -> None:
    """
    Read, split, count, print.
    """
    path, top = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10
    spark = SparkSession.builder.getOrCreate()
    words = spark.read.text(path).select(f.explode(f.split(f.lower("value"), r"[^\p{L}]+")).alias("word"))
    counted = words.where("word <> ''").groupBy("word").count().orderBy(f.desc("count"), "word")
    for row in counted.limit(top).collect():
        print(f"{row['count']:>8,}  {row['word']}")


if __name__ == "__main__":
    main()
