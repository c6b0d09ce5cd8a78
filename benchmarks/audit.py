"""The audit of a table against writing that table sorted, in one warm session: python
benchmarks/audit.py ROWS

The table is a synthetic census that somebody generalized with SQL: bands of age and hours, four
other quasi-identifiers as they are; its rows are in no order, and its sensitive attributes have 13
and some 1,300 values. Verification is what `tclose audit` does, with and without the attacks, Great
Expectations included. Quote the ratios.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from cost import measure
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tclose_spark.auditing.audit import audit_table
from tclose_spark.auditing.question import AuditQuestion, question_from_columns
from tclose_spark.auditing.result import AuditResult
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.io.spark.session import get_session
from tclose_spark.synthetic.census import write_people

QUASI = ["age", "sex", "education", "marital_status", "region", "occupation", "hours"]
SENSITIVE = {
    "disease": {"t": "0.3", "l": {"distinct": 2}},
    "income": {"distance": "ordered", "t": "0.2"},
}
WARM_UP_ROWS = 100_000


def band(column: str, width: int) -> Column:
    """Closed intervals of whole numbers."""
    low = F.floor(F.col(column) / width) * width
    return F.concat(
        F.lit("["),
        low.cast("string"),
        F.lit(", "),
        (low + width - 1).cast("string"),
        F.lit("]"),
    ).alias(column)


def generalized(spark: SparkSession, rows: int, folder: Path) -> DataFrame:
    write_people(folder / "people.parquet", rows)
    people = spark.read.parquet(f"{folder}/people.parquet")
    kept = ["sex", "education", "marital_status", "region"]
    income = (F.floor(F.col("income") / 1000) * 1000).alias("income")
    people.select(
        band("age", 10),
        *kept,
        F.lit("*").alias("occupation"),
        band("hours", 10),
        "disease",
        income,
    ).write.parquet(f"{folder}/table.parquet")
    return spark.read.parquet(f"{folder}/table.parquet")


def write_sorted(table: DataFrame, path: str) -> None:
    moved = table.repartitionByRange(32, *QUASI).sortWithinPartitions(*QUASI)
    moved.write.format("delta").mode("overwrite").save(path)


def compare(spark: SparkSession, rows: int, folder: Path) -> str:
    table = generalized(spark, rows, folder)
    found: dict[int, AuditResult] = {}
    floor = measure(spark, lambda: write_sorted(table, f"{folder}/sorted"))
    lines = [f"{rows:,} rows", f"{'write sorted':<36} {floor}"]
    for many, attacks in ((1, False), (2, False), (1, True), (2, True)):
        question = question_from_columns(
            QUASI,
            dict(list(SENSITIVE.items())[:many]),
            k=5,
            attacks=attacks,
        )

        def work(question: AuditQuestion = question, many: int = many) -> None:
            found[many] = audit_table(AuditTables(table=table), question)

        cost = measure(spark, work)
        what = f"{many} sensitive, {'guarantees and attacks' if attacks else 'guarantees'}"
        lines.append(
            f"{what:<36} {cost}   ratio {cost.wall / floor.wall:.2f} wall, "
            f"{cost.cpu / floor.cpu:.2f} CPU",
        )
    figures = found[2].figures
    return "\n  ".join(
        [
            *lines,
            f"{figures.classes:,} classes, the smallest has {figures.smallest}; verdict: "
            f"{found[2].verdict}",
        ],
    )


def main(sizes: list[int]) -> None:
    spark = get_session("benchmark")
    for rows in [WARM_UP_ROWS, *sizes]:
        with tempfile.TemporaryDirectory(dir=os.environ.get("TCLOSE_BENCH_FOLDER")) as folder:
            figures = compare(spark, rows, Path(folder))
            if rows != WARM_UP_ROWS:
                print(figures, flush=True)


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [10_000_000])
