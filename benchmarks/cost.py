"""What work costs: wall seconds, CPU seconds and memory of the whole process tree (the JVM's and
Python's), Spark jobs, bytes shuffled, bytes on disk.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import SparkSession

INTERVAL = 0.5  # seconds between two looks; what a process used since the last one before its end is missed
TICKS, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
PEAKS = ("driver", "java", "workers", "memory", "disk")


@dataclass(frozen=True)
class Cost:
    wall: float = 0.0
    jvm: float = 0.0  # CPU seconds
    python: float = 0.0  # CPU seconds of the driver and of all workers
    jobs: int = 0
    shuffled: int = 0  # bytes
    # The most bytes in memory at one moment. A page that processes share counts for each of them.
    driver: int = 0  # of this process,
    java: int = 0  # of the JVM,
    workers: int = 0  # of all Python workers,
    memory: int = 0  # of all these processes
    disk: int = 0  # the most bytes on the disk of temporary files, beyond those at `Meter.begin`

    @property
    def cpu(self) -> float:
        return self.jvm + self.python

    def __add__(self, other: Cost) -> Cost:
        sums = {
            name: getattr(self, name) + getattr(other, name)
            for name in ("wall", "jvm", "python", "jobs", "shuffled")
        }
        return Cost(
            **sums,
            **{kind: max(getattr(self, kind), getattr(other, kind)) for kind in PEAKS},
        )

    def __sub__(self, other: Cost) -> Cost:
        return self + Cost(-other.wall, -other.jvm, -other.python, -other.jobs, -other.shuffled)

    def __str__(self) -> str:
        return (
            f"{self.wall:7.1f} s  {self.cpu:7.1f} CPU s  {self.jobs:3d} jobs  "
            f"{self.memory / 2**30:4.1f} GiB in memory"
        )


def disk_used() -> int:
    """Bytes used on the disk of temporary files, where benchmarks and Spark write."""
    return shutil.disk_usage(tempfile.gettempdir()).used


class Meter:
    """CPU time and memory of this process and of all its descendants so far, and bytes on disk.

    Python workers are nobody's children to wait for, so that their time is in no parent's figures:
    all processes are looked at while they live, and the last figure of each is kept.
    """

    def __init__(self) -> None:
        self._used: dict[tuple[int, int], tuple[bool, int]] = {}
        self._peaks = dict.fromkeys(PEAKS, 0)
        self._lock = threading.Lock()
        self.begin()
        threading.Thread(target=self._watch, daemon=True).start()

    def begin(self) -> None:
        """Count bytes on disk from now on."""
        self._disk_before = disk_used()

    def _watch(self) -> None:
        while True:
            self._look()
            time.sleep(INTERVAL)

    def _look(self) -> None:
        found = {}
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    name, fields = (
                        Path(f"/proc/{entry}/stat").read_text().split("(", 1)[1].rsplit(")", 1)
                    )
                except (OSError, IndexError):
                    continue
                state = fields.split()
                used, held = int(state[11]) + int(state[12]), int(state[21]) * PAGE
                found[int(entry)] = (int(state[1]), int(state[19]), name == "java", used, held)
        ours = {os.getpid()}
        for process in sorted(found, key=lambda process: found[process][1]):  # parents are older
            if found[process][0] in ours:
                ours.add(process)
        held = dict.fromkeys(PEAKS, 0)
        with self._lock:
            for process in ours & set(found):
                _, born, java, ticks, memory = found[process]
                self._used[process, born] = (java, ticks)
                kind = "java" if java else "driver" if process == os.getpid() else "workers"
                held[kind] += memory
                held["memory"] += memory
            held["disk"] = max(0, disk_used() - self._disk_before)
            self._peaks = {kind: max(self._peaks[kind], held[kind]) for kind in PEAKS}

    def peaks(self) -> dict[str, int]:
        """The most bytes since the last call: in memory by kind of process, and on disk."""
        self._look()
        with self._lock:
            peaks, self._peaks = self._peaks, dict.fromkeys(PEAKS, 0)
        return peaks

    def now(self) -> Cost:
        self._look()
        with self._lock:
            used = list(self._used.values())
        jvm = sum(ticks for java, ticks in used if java) / TICKS
        return Cost(time.monotonic(), jvm, sum(ticks for _, ticks in used) / TICKS - jvm)


METER = Meter()


def measure(spark: SparkSession, work: Callable[[], object]) -> Cost:
    jobs = spark.sparkContext.statusTracker().getJobIdsForGroup
    executors = spark.sparkContext._jsc.sc().statusStore().executorList
    METER.peaks()
    first, moved, before = (
        max(jobs(None), default=-1),
        executors(False).head().totalShuffleWrite(),
        METER.now(),
    )
    work()
    cost = METER.now() - before
    shuffled = executors(False).head().totalShuffleWrite() - moved
    return replace(
        cost,
        jobs=max(jobs(None), default=-1) - first,
        shuffled=shuffled,
        **METER.peaks(),
    )
