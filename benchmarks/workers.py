"""A release on a standalone cluster with one and with two workers of one core, and by simulation
with more.

    PYTHONPATH=.:tests:benchmarks python benchmarks/workers.py [--rows ROWS]
        [--methods fast,stack_and_deal]

The driver is a third process, so a machine of two cores cannot reach twice the speed. Tasks of the
run with one worker are scheduled anew for the simulation: each free core takes the next task of a
stage, and what no stage accounts for takes as long as before. A table of more rows has more tasks
of the same lengths in each stage of several tasks.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from release import CONFIG, STAGES, console, method_named, pipeline_stages
from rich.table import Table
from standalone import standalone

from tclose_spark import pipeline
from tclose_spark.io.run import Run
from tclose_spark.io.spark.session import get_session
from tclose_spark.runfile.loading import load_spec
from tclose_spark.synthetic.census import write_hierarchies, write_people

SIMULATED = {1: (2, 4, 8), 100_000_000: (16, 64), 1_000_000_000: (16, 64, 256)}
"""Numbers of cores, by rows; 1 is for the rows that were measured."""
WARM_ROWS = 100_000


@dataclass
class Ran:
    """Wall seconds by stage of a release, and of each of Spark's stages its wall seconds and those
    of its tasks.
    """

    wall: dict[str, float]
    spark: list[tuple[float, list[float]]] = field(default_factory=list)

    @property
    def whole(self) -> float:
        return sum(self.wall.values())

    @property
    def alone(self) -> float:
        """Wall seconds in which no task runs: the driver's."""
        return self.whole - sum(wall for wall, _ in self.spark)

    def simulated(self, cores: int, times: int = 1) -> float:
        """Wall seconds of all stages with so many cores, for a table of so many times the rows."""
        return self.alone + sum(
            makespan(tasks * (times if len(tasks) > 1 else 1), cores) for _, tasks in self.spark
        )

    def waiting(self, cores: int, times: int) -> float:
        """The share of the cores' time in which they wait: for the driver, and for the last task of
        a stage.
        """
        busy = sum(sum(tasks) * (times if len(tasks) > 1 else 1) for _, tasks in self.spark)
        return 1 - busy / (cores * self.simulated(cores, times))


def makespan(tasks: list[float], cores: int) -> float:
    """Seconds in which so many cores finish tasks that begin in their order."""
    free = [0.0] * cores
    for seconds in tasks:
        heapq.heappush(free, heapq.heappop(free) + seconds)
    return max(free)


def stages_of(log: Path, since: float, until: float) -> list[tuple[float, list[float]]]:
    """Spark's stages in an event log that began between two times, with the seconds of their
    tasks.
    """
    tasks, ended = defaultdict(list), {}
    for line in log.read_text().splitlines():
        event = json.loads(line)
        if event["Event"] == "SparkListenerTaskEnd":
            info = event["Task Info"]
            tasks[event["Stage ID"]].append(
                (info["Launch Time"], (info["Finish Time"] - info["Launch Time"]) / 1e3),
            )
        elif event["Event"] == "SparkListenerStageCompleted":
            info = event["Stage Info"]
            if since * 1e3 <= info["Submission Time"] < until * 1e3:
                first = min(launched for launched, _ in tasks[info["Stage ID"]])
                ended[info["Stage ID"]] = (info["Completion Time"] - first) / 1e3
    return [
        (wall, [seconds for _, seconds in sorted(tasks[stage])]) for stage, wall in ended.items()
    ]


def released(folder: Path, rows: int, method: str) -> dict[str, float]:
    os.environ["TCLOSE_DEMO"] = str(folder / str(rows))
    with tempfile.TemporaryDirectory(dir=folder) as output:
        settings = [f"output.path={output}", f"method={method_named(method)}"]
        run = Run(load_spec(CONFIG, settings), get_session("benchmark"), lambda line: None)
        wall = {}
        for stage in pipeline_stages():
            start = time.monotonic()
            getattr(pipeline, stage)(run)
            wall[stage] = time.monotonic() - start
    return wall


def inside(folder: Path, rows: int, methods: list[str]) -> None:
    """In a process of its own: releases, and prints their figures as JSON."""
    made = {}
    for method in methods:
        released(folder, WARM_ROWS, method)
        since = time.time()
        wall = released(folder, rows, method)
        made[method] = (wall, since, time.time())
    get_session("benchmark").stop()
    log = max((folder / "events").rglob("*"), key=lambda file: file.stat().st_size)
    print(
        json.dumps(
            {
                name: {"wall": wall, "spark": stages_of(log, *times)}
                for name, (wall, *times) in made.items()
            },
        ),
    )


def measured(folder: Path, workers: int, rows: int, methods: list[str]) -> dict[str, Ran]:
    with tempfile.TemporaryDirectory() as daemons, standalone(Path(daemons)) as cluster:
        for number in range(workers):
            cluster.add_worker(f"worker{number}")
        events = folder / "events"
        events.mkdir(exist_ok=True)
        events_of = {"enabled": "true", "compress": "false", "dir": f"file://{events}"}
        settings = " ".join(
            f"--conf spark.eventLog.{key}={value}" for key, value in events_of.items()
        )
        command = [
            sys.executable,
            __file__,
            "--inside",
            str(folder),
            "--rows",
            str(rows),
            "--methods",
            ",".join(methods),
        ]
        done = subprocess.run(
            command,
            env={
                **os.environ,
                "TCLOSE_MASTER": cluster.url,
                "PYSPARK_SUBMIT_ARGS": f"{settings} pyspark-shell",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(done.stderr[-3000:])
    return {
        method: Ran(**figures)
        for method, figures in json.loads(done.stdout.splitlines()[-1]).items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--methods", default="fast,stack_and_deal")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    methods = given.methods.split(",")
    if given.inside:
        inside(given.inside, given.rows, methods)
        return
    with tempfile.TemporaryDirectory(dir=os.environ.get("TCLOSE_BENCH_FOLDER")) as name:
        for rows in {WARM_ROWS, given.rows}:
            write_hierarchies(Path(name, str(rows), "hierarchies"))
            write_people(Path(name, str(rows), "people.parquet"), rows)
        runs = {workers: measured(Path(name), workers, given.rows, methods) for workers in (1, 2)}
    shown = Table("method", "workers", *STAGES[:4], "report", "publish", "all, wall s", "times one")
    larger = Table("method", "rows", "cores", "wall s", "of it the driver", "cores wait")
    for method in methods:
        one = runs[1][method]
        for workers, run in ((1, one), (2, runs[2][method])):
            walls = [f"{run.wall[stage]:.1f}" for stage in pipeline_stages()]
            shown.add_row(
                method,
                f"{workers}",
                *walls,
                f"{run.whole:.1f}",
                f"{one.whole / run.whole:.2f}",
            )
        for rows, numbers in SIMULATED.items():
            for cores in numbers:
                times = max(1, rows // given.rows)
                seconds, waiting = one.simulated(cores, times), one.waiting(cores, times)
                larger.add_row(
                    method,
                    f"{times * given.rows:,}",
                    f"{cores}",
                    f"{seconds:.1f}",
                    f"{one.alone:.1f}",
                    f"{waiting:.0%}",
                )
    console.print(shown)
    console.print(larger)


if __name__ == "__main__":
    main()
