"""What work costs: wall seconds, CPU seconds of the whole process tree, Spark jobs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Cost:
    wall: float
    cpu: float
    jobs: int

    def __str__(self) -> str:
        return f"{self.wall:7.1f} s  {self.cpu:7.1f} CPU s  {self.jobs:3d} jobs"


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
