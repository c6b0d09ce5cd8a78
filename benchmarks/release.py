"""The whole release against Spark's floor, in one warm session: `make bench`, or

    python benchmarks/release.py [ROWS ...] [--methods fast,balanced,thorough,stack_and_deal]

The floor is what any tool must do with the same rows: read Parquet, one shuffle by range (a release is in order of its
columns), sort inside partitions, write Delta.
For all: wall seconds, CPU seconds of the whole process tree, and the number of Spark jobs. Quote the ratios: the
seconds are this machine's.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from cost import measure
from pyspark.sql import SparkSession

from tclose_spark import pipeline
from tclose_spark.io.run import Run
from tclose_spark.io.session import get_session
from tclose_spark.runfile.loading import load_spec
from tclose_spark.synthetic.census import PEOPLE_COLUMNS, generate_people, write_hierarchies

CONFIG = Path(__file__).parent.parent / "conf" / "demo.yaml"
WARM_UP_ROWS = 100_000
EFFORTS = ("fast", "balanced", "thorough")


def floor(spark: SparkSession, people: str, output: str) -> None:
    columns = [column.name for column in PEOPLE_COLUMNS if column.role == "quasi-identifier"] + ["disease"]
    moved = spark.read.parquet(people).select(*columns).repartitionByRange(32, *columns).sortWithinPartitions(*columns)
    moved.write.format("delta").mode("overwrite").save(output)


def release(spark: SparkSession, folder: Path, method: str, lines: list[str]) -> dict:
    """The certificate of a release by a method, or by the closeness tree with this effort."""
    os.environ["TCLOSE_DEMO"] = str(folder)
    named = f"{{name: closeness_tree, effort: {method}}}" if method in EFFORTS else f"{{name: {method}}}"
    spec = load_spec(CONFIG, [f"output.path={folder}/release", f"method={named}"])
    return dict(pipeline.release(Run(spec, spark, lines.append, overwrite=True)))


def compare(spark: SparkSession, rows: int, methods: list[str], folder: Path) -> None:
    """Prints what the floor and the release by each method cost, on freshly generated people."""
    people = f"{folder}/people.parquet"
    generate_people(spark, rows).write.parquet(people)
    write_hierarchies(folder / "hierarchies")
    low = measure(spark, lambda: floor(spark, people, f"{folder}/floor"))
    print(f"{rows:,} rows\n  {'floor':<15} {low}", flush=True)
    for method in methods:
        lines: list[str] = []
        certificate: dict = {}
        high = measure(spark, lambda: certificate.update(release(spark, folder, method, lines)))  # noqa: B023
        print(*(f"    {line}" for line in lines), sep="\n")
        ratio = (
            f"{high.wall / low.wall:.2f} x wall  {high.cpu / low.cpu:.2f} x CPU  {high.cpu / rows * 1e6:.1f} CPU us a "
            "row"
        )
        print(f"  {method:<15} {high}  {ratio}  NCP {certificate['utility']['ncp']:.4f}", flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("rows", nargs="*", type=int, default=[300_000, 3_000_000])
    arguments.add_argument("--methods", default="fast,balanced,stack_and_deal")  # thorough: hours for millions of rows
    given = arguments.parse_args()
    spark = get_session("benchmark")
    methods = given.methods.split(",")
    for rows in [WARM_UP_ROWS, *given.rows]:
        with tempfile.TemporaryDirectory(dir=os.environ.get("TCLOSE_BENCH_FOLDER")) as name:
            compare(spark, rows, [methods[0]] if rows == WARM_UP_ROWS else methods, Path(name))


if __name__ == "__main__":
    main()
