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
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from tclose_spark import pipeline
from tclose_spark.run import Run
from tclose_spark.session import get_session
from tclose_spark.spec import load_spec
from tclose_spark.synthetic import PEOPLE_COLUMNS, generate_people, write_hierarchies

CONFIG = Path(__file__).parent.parent / "conf" / "demo.yaml"
WARM_UP_ROWS = 100_000


@dataclass(frozen=True)
class Cost:
    wall: float
    cpu: float
    jobs: int


def cpu_seconds() -> float:
    """CPU time of this process and all its descendants, those that ended included."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents[int(entry)] = int(fields[1])
            ticks[int(entry)] = sum(int(field) for field in fields[11:15])

    def ours(process: int) -> bool:
        while process not in (0, 1, os.getpid()):
            process = parents.get(process, 0)
        return process == os.getpid()

    return sum(used for process, used in ticks.items() if ours(process)) / os.sysconf("SC_CLK_TCK")


def measure(spark: SparkSession, work: Callable[[], object]) -> Cost:
    jobs = spark.sparkContext.statusTracker().getJobIdsForGroup
    before = max(jobs(None), default=-1)
    wall, cpu = time.monotonic(), cpu_seconds()
    work()
    return Cost(time.monotonic() - wall, cpu_seconds() - cpu, max(jobs(None), default=-1) - before)


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
    costs = [f"{what:<8} {c.wall:7.1f} s  {c.cpu:7.1f} CPU s  {c.jobs:3d} jobs" for what, c in (("floor", low), ("release", high))]
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
