"""The whole release against Spark's floor, in one warm session: `make bench`, or python benchmarks/release.py ROWS ...

The floor is what any tool must do with the same rows: read Parquet, one shuffle by range (a release is in order of its
columns), sort inside partitions, write Delta.
For both: wall seconds, CPU seconds of the whole process tree, and the number of Spark jobs. Quote the ratios: the
seconds are this machine's.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from cost import measure
from pyspark.sql import SparkSession

from tclose_spark import pipeline
from tclose_spark.run import Run
from tclose_spark.session import get_session
from tclose_spark.spec import load_spec
from tclose_spark.synthetic import PEOPLE_COLUMNS, generate_people, write_hierarchies

CONFIG = Path(__file__).parent.parent / "conf" / "demo.yaml"
WARM_UP_ROWS = 100_000


def floor(spark: SparkSession, people: str, output: str) -> None:
    columns = [column.name for column in PEOPLE_COLUMNS if column.role == "quasi-identifier"] + ["disease"]
    moved = spark.read.parquet(people).select(*columns).repartitionByRange(32, *columns).sortWithinPartitions(*columns)
    moved.write.format("delta").mode("overwrite").save(output)


def release(spark: SparkSession, folder: Path, lines: list[str]) -> dict:
    os.environ["TCLOSE_DEMO"] = str(folder)
    spec = load_spec(CONFIG, [f"output.path={folder}/release"])
    return dict(pipeline.release(Run(spec, spark, lines.append, overwrite=True)))


def compare(spark: SparkSession, rows: int, folder: Path) -> str:
    """Both, on freshly generated people; the figures as text."""
    people = f"{folder}/people.parquet"
    generate_people(spark, rows).write.parquet(people)
    write_hierarchies(folder / "hierarchies")
    lines: list[str] = []
    certificate: dict = {}
    low = measure(spark, lambda: floor(spark, people, f"{folder}/floor"))
    high = measure(spark, lambda: certificate.update(release(spark, folder, lines)))
    costs = [f"{what:<8} {cost}" for what, cost in (("floor", low), ("release", high))]
    ratio = f"ratio    {high.wall / low.wall:7.2f}    {high.cpu / low.cpu:7.2f}        NCP {certificate['utility']['ncp']:.4f}"
    return "\n  ".join([f"{rows:,} rows", *lines, *costs, ratio])


def main(sizes: list[int]) -> None:
    spark = get_session("benchmark")
    for rows in [WARM_UP_ROWS, *sizes]:
        with tempfile.TemporaryDirectory(dir=os.environ.get("TCLOSE_BENCH_FOLDER")) as name:
            figures = compare(spark, rows, Path(name))
            if rows != WARM_UP_ROWS:
                print(figures, flush=True)


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [1_000_000, 3_000_000])
