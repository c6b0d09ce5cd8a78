"""A national census, released on this machine: `make census`, or

    python benchmarks/census.py [--rows ROWS] [--methods fast,stack_and_deal] [--folder FOLDER]
        [--json FILE]

Makes the people as files of 1,000,000 rows, releases them by each method, and prints what each
stage costs, what is staged and what is published. Judges a sample of the written classes by code of
its own. Its goal: at most 10.5 times the CPU seconds of a tenth of the rows, which it releases
first.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from cost import METER, PEAKS, Cost, measure
from deltalake import DeltaTable
from release import CONFIG, STAGES, console, method_named, pipeline_stages
from rich.table import Table

from tclose_spark import pipeline
from tclose_spark.io.run import Run
from tclose_spark.io.spark.session import get_session
from tclose_spark.runfile.loading import load_spec
from tclose_spark.synthetic.census import (
    AT_ONCE,
    SCHEMA,
    people_between,
    write_hierarchies,
    write_table,
)

FILE_ROWS = (1_000_000 // AT_ONCE + 1) * AT_ONCE  # some 1,000,000 people
SEED = 2026
DRAWN = 2_000  # rows; the classes of these are judged
SENSITIVE = "disease"


@dataclass
class Released:
    """A release: costs by stage, bytes in the staging area before publication, bytes published,
    what was judged.
    """

    method: str
    rows: int
    stages: dict[str, Cost]
    staged: int
    published: int
    loss: float
    judged: str


def write_census(folder: Path, rows: int) -> None:
    """Writes files of some 1,000,000 people each, and the hierarchies, unless the people are there.
    All cores write.
    """
    people = folder / "people.parquet"
    if people.exists():
        return
    people.mkdir(parents=True)
    write_hierarchies(folder / "hierarchies")
    with ThreadPoolExecutor(os.cpu_count()) as cores:
        list(cores.map(partial(write_file, people, rows), range(-(-rows // FILE_ROWS))))


def write_file(people: Path, rows: int, number: int) -> None:
    """Writes the file with this number of a table with so many rows."""
    first, end = number * FILE_ROWS, min((number + 1) * FILE_ROWS, rows)
    batches = (
        people_between(SEED, start, min(start + AT_ONCE, end))
        for start in range(first, end, AT_ONCE)
    )
    write_table(people / f"part-{number:04d}.parquet", SCHEMA, batches)


def size_of(folder: Path) -> int:
    """Bytes of all files below."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def release(spark, folder: Path, rows: int, method: str) -> Released:
    METER.begin()
    os.environ["TCLOSE_DEMO"] = str(folder)
    output = folder / "release"
    spec = load_spec(CONFIG, [f"output.path={output}", f"method={method_named(method)}"])
    run, cost, staged = Run(spec, spark, lambda line: None), {}, 0
    for name in pipeline_stages():
        staged = size_of(output)
        cost[name] = measure(spark, lambda: getattr(pipeline, name)(run))  # noqa: B023
        console.print(f"{method}, {rows:,} rows, {name}: {cost[name]}")
    ended = {"report+publish": cost.pop("report") + cost.pop("publish")}
    stages = {**cost, **ended, "all": sum([*cost.values(), *ended.values()], Cost())}
    loss = json.loads((output / "public/certificate.json").read_text())["utility"]["ncp"]
    judged = judge(folder / "people.parquet", output / "public", spec.privacy.k, Fraction("0.1"))
    published = size_of(output / "public")
    shutil.rmtree(output)
    return Released(method, rows, stages, staged, published, loss, judged)


def shares_in(table: ds.Dataset) -> dict[str, Fraction]:
    """The share of each sensitive value among all rows."""
    counts: dict[str, int] = {}
    for batch in table.to_batches(columns=[SENSITIVE]):
        for found in pc.value_counts(batch.column(0).cast(pa.string())).to_pylist():
            counts[found["values"]] = counts.get(found["values"], 0) + found["counts"]
    return {value: Fraction(count, sum(counts.values())) for value, count in counts.items()}


def judge(people: Path, public: Path, k: int, t: Fraction) -> str:
    """Counts all rows of the classes of some drawn rows, and measures their distances exactly.

    Raises:
        AssertionError: for a class of fewer than k rows or above t, and if rows are missing.
    """
    original, released = (
        ds.dataset(people),
        ds.dataset(DeltaTable(str(public / "release")).file_uris()),
    )
    quasi = [name for name in released.schema.names if name != SENSITIVE]
    rows = released.count_rows()
    assert rows == original.count_rows(), rows
    places = sorted(random.Random(rows).sample(range(rows), min(DRAWN, rows)))
    keys = released.take(pa.array(places), columns=quasi).group_by(quasi).aggregate([])
    counts: dict[tuple, dict[str, int]] = {}
    for batch in released.to_batches(columns=[*quasi, SENSITIVE]):
        found = (
            pa.table(batch)
            .join(keys, quasi, join_type="inner")
            .group_by([*quasi, SENSITIVE])
            .aggregate([([], "count_all")])
        )
        for row in found.to_pylist():
            of_class = counts.setdefault(tuple(row[name] for name in quasi), {})
            of_class[row[SENSITIVE]] = of_class.get(row[SENSITIVE], 0) + row["count_all"]
    shares = shares_in(original)
    worst = max(distance(of_class, shares) for of_class in counts.values())
    least = min(sum(of_class.values()) for of_class in counts.values())
    assert len(counts) == keys.num_rows, len(counts)
    assert least >= k, least
    assert worst <= t, worst
    judged = sum(sum(of_class.values()) for of_class in counts.values())
    return (
        f"{len(counts):,} classes of {judged:,} rows: smallest {least}, farthest {float(worst):.4f}"
    )


def distance(counts: dict[str, int], shares: dict[str, Fraction]) -> Fraction:
    """The earth mover's distance with equal ground distances: half the sum of differences."""
    size = sum(counts.values())
    return (
        sum(abs(Fraction(counts.get(value, 0), size) - share) for value, share in shares.items())
        / 2
    )


def show(runs: list[Released]) -> None:
    table = Table("method", "rows", "", *STAGES, "NCP")
    for run in runs:
        table.add_row(
            run.method,
            f"{run.rows:,}",
            "CPU s",
            *(f"{run.stages[s].cpu:.1f}" for s in STAGES),
            f"{run.loss:.4f}",
        )
        table.add_row("", "", "of it Python", *(f"{run.stages[s].python:.1f}" for s in STAGES))
        table.add_row("", "", "wall s", *(f"{run.stages[s].wall:.1f}" for s in STAGES))
        for kind in PEAKS:
            table.add_row(
                "",
                "",
                f"GiB, {kind}",
                *(f"{getattr(run.stages[s], kind) / 2**30:.1f}" for s in STAGES),
            )
        table.add_row(
            "",
            "",
            "MiB shuffled",
            *(f"{run.stages[s].shuffled / 2**20:.0f}" for s in STAGES),
        )
        table.add_section()
    console.print(table)
    for run in runs:
        sizes = f"{run.staged / 2**20:,.0f} MiB staged, {run.published / 2**20:,.0f} MiB published"
        console.print(f"{run.method}, {run.rows:,} rows: {sizes}; judged {run.judged}")
    for method in {run.method: None for run in runs}:
        tenth, whole = (run.stages["all"].cpu for run in runs if run.method == method)
        console.print(
            f"{method}: {whole / tenth:.1f} times the CPU seconds of a tenth of the rows (goal: "
            "10.5)",
        )


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    arguments.add_argument("--rows", type=int, default=100_000_000)
    arguments.add_argument("--methods", default="fast,stack_and_deal")
    arguments.add_argument(
        "--folder",
        type=Path,
        help="keeps the tables; by default a temporary one",
    )
    arguments.add_argument("--json", type=Path, help="write all figures there, too")
    given = arguments.parse_args()
    spark, runs = get_session("census"), []
    with nullcontext(given.folder) if given.folder else tempfile.TemporaryDirectory() as name:
        folders = {
            rows: Path(name, str(rows))
            for rows in (given.rows // 1000, given.rows // 10, given.rows)
        }
        for rows, folder in folders.items():
            write_census(folder, rows)
        for number, (rows, folder) in enumerate(folders.items()):
            for method in given.methods.split(","):
                run = release(spark, folder, rows, method)
                if number:  # the smallest warms the session, and compiles
                    runs.append(run)
    show(runs)
    if given.json:
        given.json.write_text(json.dumps([asdict(run) for run in runs], indent=1) + "\n")


if __name__ == "__main__":
    main()
