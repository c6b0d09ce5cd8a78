"""The stages of a release by rows, against Spark's floor, in one warm session: `make bench`, or

    python benchmarks/release.py [ROWS ...] [--methods fast,balanced,stack_and_deal] [--repeat N]
        [--json FILE]

The floor is what any tool must do with the same rows: read Parquet, one shuffle by range (a release
is in order of its columns), sort inside partitions, write Delta. It is measured first and last.
docs/performance.md says how to read it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from cost import METER, PEAKS, Cost, measure
from fit import Line, goals
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from tclose_spark import pipeline
from tclose_spark.io.run import Run
from tclose_spark.io.spark.session import get_session
from tclose_spark.runfile.loading import load_spec
from tclose_spark.synthetic.census import PEOPLE_COLUMNS, write_hierarchies, write_people

CONFIG = Path(__file__).parent.parent / "conf" / "demo.yaml"
EFFORTS = ("fast", "balanced", "thorough")
STAGES = ("profile", "plan", "anonymize", "verify", "report+publish", "all")
console = Console(width=140, highlight=False)


@dataclass(frozen=True)
class Measured:
    method: str
    rows: int
    stages: dict[str, Cost]
    loss: float


def floor(spark: SparkSession, folder: Path) -> Cost:
    columns = [column.name for column in PEOPLE_COLUMNS if column.role == "quasi-identifier"] + [
        "disease",
    ]
    people = spark.read.parquet(f"{folder}/people.parquet").select(*columns)
    moved = people.repartitionByRange(32, *columns).sortWithinPartitions(*columns)
    return measure(
        spark,
        lambda: moved.write.format("delta").mode("overwrite").save(f"{folder}/floor"),
    )


def method_named(method: str) -> str:
    """The method in YAML; that of an effort is the closeness tree."""
    return (
        f"{{name: closeness_tree, effort: {method}}}"
        if method in EFFORTS
        else f"{{name: {method}}}"
    )


def release(spark: SparkSession, folder: Path, rows: int, method: str) -> Measured:
    """A release by a method, or by the closeness tree with this effort, stage by stage."""
    METER.begin()
    os.environ["TCLOSE_DEMO"] = str(folder)
    with tempfile.TemporaryDirectory(dir=folder) as output:
        run = Run(
            load_spec(CONFIG, [f"output.path={output}", f"method={method_named(method)}"]),
            spark,
            lambda line: None,
        )
        cost = {
            name: measure(spark, lambda: getattr(pipeline, name)(run))  # noqa: B023
            for name in pipeline_stages()
        }
        loss = json.loads(run.public.read("certificate.json"))["utility"]["ncp"]
    ended = {"report+publish": cost.pop("report") + cost.pop("publish")}
    return Measured(
        method,
        rows,
        {**cost, **ended, "all": sum([*cost.values(), *ended.values()], Cost())},
        loss,
    )


def pipeline_stages() -> tuple[str, ...]:
    return (*STAGES[:4], "report", "publish")


def least(repeated: list[Measured]) -> dict[str, Cost]:
    """Of each stage the repetition of least CPU time."""
    return {
        name: min((run.stages[name] for run in repeated), key=lambda cost: cost.cpu)
        for name in STAGES
    }


class Results:
    """All that was measured: floors by rows, releases by method and rows."""

    def __init__(self) -> None:
        self.floors: dict[int, list[Cost]] = {}
        self.runs: dict[str, dict[int, list[Measured]]] = {}

    def add(self, run: Measured) -> None:
        self.runs.setdefault(run.method, {}).setdefault(run.rows, []).append(run)

    def floor(self, rows: int) -> float:
        """CPU seconds, the mean of first and last."""
        return statistics.mean(cost.cpu for cost in self.floors[rows])

    def line(self, method: str, stage: str) -> Line | None:
        return Line.through(
            {rows: least(runs)[stage].cpu for rows, runs in self.runs[method].items()},
        )

    def goals(self, method: str) -> list:
        by_rows = {rows: least(runs) for rows, runs in self.runs[method].items()}
        return goals(
            {rows: stages["all"].cpu for rows, stages in by_rows.items()},
            {rows: stages["all"].wall for rows, stages in by_rows.items()},
            {rows: stages["verify"].cpu for rows, stages in by_rows.items()},
            {rows: self.floor(rows) for rows in by_rows},
        )

    def show(self) -> None:
        for rows, costs in self.floors.items():
            console.print(
                f"floor of {rows:>10,} rows: "
                + ", ".join(f"{c.cpu:.1f} CPU s ({c.wall:.1f} s)" for c in costs),
            )
        table = Table("method", "rows", "", *STAGES, "floors", "NCP")
        for method, by_rows in self.runs.items():
            for rows, runs in by_rows.items():
                self._add_rows(table, method, rows, runs)
            for label, kind in (("fixed, CPU s", "fixed"), ("a row, CPU us", "row")):
                lines = [self.line(method, stage) for stage in STAGES]
                if all(lines):
                    table.add_row(
                        method,
                        "",
                        label,
                        *(f"{getattr(line, kind):.2f}" for line in lines),
                    )
            table.add_section()
        console.print(table)
        for method in self.runs:
            console.print(
                f"goals, {method}",
                *(f"  {goal}" for goal in self.goals(method)),
                sep="\n",
            )

    def _add_rows(self, table: Table, method: str, rows: int, runs: list[Measured]) -> None:
        cost = least(runs)
        floors, loss = f"{cost['all'].cpu / self.floor(rows):.2f}", f"{runs[0].loss:.4f}"
        table.add_row(
            method,
            f"{rows:,}",
            "CPU s",
            *(f"{cost[s].cpu:.1f}" for s in STAGES),
            floors,
            loss,
        )
        table.add_row("", "", "of it Python", *(f"{cost[s].python:.1f}" for s in STAGES))
        table.add_row("", "", "wall s", *(f"{cost[s].wall:.1f}" for s in STAGES))
        for kind in PEAKS:
            table.add_row(
                "",
                "",
                f"GiB, {kind}",
                *(f"{getattr(cost[s], kind) / 2**30:.1f}" for s in STAGES),
            )
        table.add_row("", "", "MiB shuffled", *(f"{cost[s].shuffled / 2**20:.0f}" for s in STAGES))
        if len(runs) > 1:
            middle = [statistics.median(run.stages[s].cpu for run in runs) for s in STAGES]
            table.add_row("", "", f"median of {len(runs)}", *(f"{cpu:.1f}" for cpu in middle))

    def to_json(self) -> dict:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
        return {
            "machine": {"cores": os.cpu_count(), "memory_gib": round(memory, 1)},
            "floors": {
                rows: [asdict(cost) for cost in costs] for rows, costs in self.floors.items()
            },
            "runs": [
                asdict(run)
                for by_rows in self.runs.values()
                for runs in by_rows.values()
                for run in runs
            ],
            "lines": {
                method: {
                    s: line and asdict(line) for s in STAGES for line in [self.line(method, s)]
                }
                for method in self.runs
            },
            "goals": {
                method: [asdict(goal) for goal in self.goals(method)] for method in self.runs
            },
        }


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    arguments.add_argument("rows", nargs="*", type=int, default=[100_000, 1_000_000, 3_000_000])
    arguments.add_argument(
        "--methods",
        default="fast,balanced,stack_and_deal",
    )  # thorough: hours for millions of rows
    arguments.add_argument(
        "--repeat",
        type=int,
        default=1,
        help="the least of so many runs is shown, and their median",
    )
    arguments.add_argument("--json", type=Path, help="write all figures there, too")
    given = arguments.parse_args()
    methods, results = given.methods.split(","), Results()
    spark = get_session("benchmark")
    with tempfile.TemporaryDirectory(dir=os.environ.get("TCLOSE_BENCH_FOLDER")) as name:
        folders = {rows: Path(name, str(rows)) for rows in given.rows}
        for rows, folder in folders.items():
            write_hierarchies(folder / "hierarchies")
            write_people(folder / "people.parquet", rows)
        smallest = min(given.rows)
        floor(spark, folders[smallest])
        for method in methods:
            release(spark, folders[smallest], smallest, method)  # kernels compiled, code warm
        results.floors = {rows: [floor(spark, folder)] for rows, folder in folders.items()}
        for _ in range(given.repeat):
            for rows, folder in folders.items():
                for method in methods:
                    results.add(release(spark, folder, rows, method))
                    console.print(
                        f"{method}, {rows:,} rows: {results.runs[method][rows][-1].stages['all']}",
                    )
        for rows, folder in folders.items():
            results.floors[rows].append(floor(spark, folder))
    results.show()
    if given.json:
        given.json.write_text(json.dumps(results.to_json(), indent=1) + "\n")


if __name__ == "__main__":
    main()
