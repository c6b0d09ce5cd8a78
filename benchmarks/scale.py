"""The plan of a table that is too large to make here: what the driver needs for it, and what each
task gets.

    python benchmarks/scale.py [ROWS ...] [--made ROWS] [--methods fast,balanced,stack_and_deal]

A smaller synthetic census is made and staged, and the plan draws its sample from there. Counts over
the table are multiplied, so that a plan is that of a table of ROWS rows. Blocks vary more than
those of so many rows would, so it has more merges.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cost import measure
from pyspark import cloudpickle
from release import CONFIG, console, method_named
from rich.table import Table

from tclose_spark import pipeline
from tclose_spark.io.run import Run
from tclose_spark.io.spark.session import get_session
from tclose_spark.methods.method import Plan, method_of
from tclose_spark.runfile.loading import load_spec
from tclose_spark.stages.planning_input import planning_input
from tclose_spark.stages.staging.area import encoded_table, read_profile, resolved_attributes
from tclose_spark.stages.staging.encode import EncodedTable
from tclose_spark.synthetic.census import write_hierarchies, write_people
from tclose_spark.table.domains import Profile
from tclose_spark.table.rows import Rows
from tclose_spark.table.tally import Tally

ROUTED = 100_000  # rows whose way to their task is timed
COLUMNS = (
    "method",
    "rows",
    "driver, CPU s",
    "scans, wall s",
    "driver, GiB",
    "blocks",
    "tasks",
    "merges",
    "plan, MiB",
    "to each task, MiB",
    "route, us a row",
)


@dataclass
class Enlarged:
    """A staged table, as if it had each row `times` times. scans: wall seconds of its counts."""

    table: EncodedTable
    times: int
    scans: float = 0.0

    def sample(self, most: int) -> Rows:
        """See EncodedTable."""
        return self._timed(self.table.sample, most)

    def counts(self, *given: Any) -> Any:
        """See EncodedTable."""
        return self._timed(self.table.counts, *given) * self.times

    def frequencies(self, *given: Any) -> Tally:
        """See EncodedTable."""
        tally = self._timed(self.table.frequencies, *given)
        return Tally(tally.keys, tally.rows * self.times)

    def _timed(self, call: Any, *given: Any) -> Any:
        start = time.monotonic()
        try:
            return call(*given)
        finally:
            self.scans += time.monotonic() - start


def enlarged(profile: Profile, times: int) -> Profile:
    """The profile of a table with each row `times` times."""
    domains = tuple(
        replace(one, counts=tuple(n * times for n in one.counts)) for one in profile.sensitive
    )
    cells = tuple(n * times for n in profile.cell_counts)
    return replace(profile, rows=profile.rows * times, sensitive=domains, cell_counts=cells)


def planned(run: Run, profile: Profile, table: EncodedTable, times: int) -> list[str]:
    """The columns after the method."""
    whole, large, made = enlarged(profile, times), Enlarged(table, times), []

    def make() -> None:
        given = planning_input(run.spec, resolved_attributes(run, whole), large)  # type: ignore[arg-type]
        made.append(method_of(run.spec.method).make_plan(given))

    start = time.process_time()
    cost = measure(run.session, make)
    driver = time.process_time() - start
    plan: Plan = made[0]
    rows = table.sample(ROUTED)
    start = time.process_time()
    plan.route(rows)
    route = (time.process_time() - start) / len(rows) * 1e6
    figures = plan.report().figures
    mebi = [
        len(data) / 2**20 for data in (json.dumps(plan.to_json()).encode(), cloudpickle.dumps(plan))
    ]
    return [
        f"{whole.rows:,}",
        f"{driver:.1f}",
        f"{large.scans:.1f}",
        f"{cost.driver / 2**30:.2f}",
        f"{figures.get('blocks', plan.blocks):,}",
        f"{plan.tasks:,}",
        f"{figures.get('merges', 0):,}",
        *(f"{size:.1f}" for size in mebi),
        f"{route:.2f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "rows",
        nargs="*",
        type=int,
        default=[10_000_000, 100_000_000, 1_000_000_000],
    )
    parser.add_argument("--made", type=int, default=10_000_000)
    parser.add_argument("--methods", default="fast,balanced,stack_and_deal")
    given = parser.parse_args()
    spark, shown = get_session("benchmark"), Table(*COLUMNS)
    with tempfile.TemporaryDirectory(dir=os.environ.get("TCLOSE_BENCH_FOLDER")) as name:
        folder = Path(name)
        os.environ["TCLOSE_DEMO"] = name
        write_hierarchies(folder / "hierarchies")
        write_people(folder / "people.parquet", given.made)
        for method in given.methods.split(","):
            settings = [f"output.path={folder}/{method}", f"method={method_named(method)}"]
            run = Run(load_spec(CONFIG, settings), spark, lambda line: None)
            pipeline.profile(run)
            profile = read_profile(run)
            table = encoded_table(run, profile)
            for rows in given.rows:
                shown.add_row(method, *planned(run, profile, table, max(1, rows // given.made)))
    console.print(shown)


if __name__ == "__main__":
    main()
