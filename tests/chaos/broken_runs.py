"""Runs in processes of their own, which trials break, and what must hold afterwards."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import pyarrow.parquet as pq
import yaml
from deltalake import DeltaTable

from tclose_spark.io.spark.installation import to_be_found
from tclose_spark.synthetic.census import write_hierarchies, write_people

ROOT = Path(__file__).resolve().parents[2]
SHARED = {
    "PYTHONPATH": str(ROOT),
    "PYSPARK_PYTHON": sys.executable,
    "TCLOSE_SECRET": "one secret for all trials, so that they make one release",
}
METHODS = {
    "closeness_tree": {"name": "closeness_tree", "effort": "fast"},
    "overlap_none": {"name": "closeness_tree", "effort": "fast", "overlap": "none"},
    "stack_and_deal": {"name": "stack_and_deal", "deal": "layered"},
    "fragmentation": {"name": "fragmentation", "sizing": "measured"},
    "t_incognito": {"name": "t_incognito"},
}
CLUSTER = {
    "spark.executor.memory": "700m",
    "spark.task.maxFailures": "12",
    "spark.sql.shuffle.partitions": "4",
    "spark.speculation": "true",
}
SUBMIT = (
    str(Path(sys.executable).parent / "spark-submit"),
    "--packages",
    to_be_found()["spark.jars.packages"],
)
PATIENCE = 3600
"""Seconds that a run may take on a busy machine."""
LAST_WORDS = 1500
"""Characters of a failed run's output that a failure shows."""


def write_crowd(folder: Path, rows: int) -> None:
    """Writes people in four files, their hierarchies, and a run file for each method."""
    write_hierarchies(folder / "hierarchies")
    whole = folder / "whole.parquet"
    write_people(whole, rows)
    table, part = pq.read_table(whole), -(-rows // 4)
    whole.unlink()
    (folder / "people.parquet").mkdir()
    for i in range(4):
        pq.write_table(table.slice(i * part, part), folder / f"people.parquet/{i}.parquet")
    run_file = yaml.safe_load(
        (ROOT / "conf/demo.yaml").read_text().replace("${TCLOSE_DEMO:-../build/demo}", str(folder)),
    )
    for name, method in METHODS.items():
        made = {**run_file, "method": method, "name": name}
        made["attributes"]["sensitive_attributes"]["disease"]["t"] = 0.2
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(made))


def published(output: Path) -> str:
    """The fingerprint in the public certificate."""
    found: str = json.loads((output / "public/certificate.json").read_text())["release"][
        "fingerprint"
    ]
    return found


@dataclass(frozen=True)
class Command:
    """`tclose release` of a run file into an output, in a process of its own.

    engine: local, spark (in one JVM) or cluster (two executors in processes of their own).
    master, settings: of the cluster; the settings of Spark stand beside CLUSTER.
    public, internal: by default the folders of these names in the output.
    wrapped: what the command is an argument of, such as `prlimit`.
    """

    run_file: Path
    output: Path
    engine: str
    options: Sequence[str] = ()
    public: Path | None = None
    internal: Path | None = None
    environment: dict[str, str] = field(default_factory=dict)
    wrapped: Sequence[str] = ()
    master: str = "local-cluster[2,1,1024]"
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def _arguments(self) -> list[str]:
        output = {"public": str(self.public or self.output / "public")}
        output["internal"] = str(self.internal or self.output / "internal")
        asked = [str(self.run_file), "--set", f"output={json.dumps(output)}", *self.options]
        if self.engine == "cluster":
            settings = {"spark.master": self.master, **CLUSTER, **self.settings}
            confs = [
                part for key, value in settings.items() for part in ("--conf", f"{key}={value}")
            ]
            return [*self.wrapped, *SUBMIT, *confs, str(ROOT / "jobs/release.py"), *asked]
        return [
            *self.wrapped,
            sys.executable,
            "-m",
            "tclose_spark",
            "release",
            "--engine",
            self.engine,
            *asked,
        ]

    def start(self, told: IO[str] | int = subprocess.PIPE) -> subprocess.Popen[str]:
        """The running process, which leads a group of its own. told: where its output goes."""
        return subprocess.Popen(
            self._arguments,
            env={**os.environ, **SHARED, **self.environment},
            cwd=self.run_file.parent,
            stdin=subprocess.DEVNULL,
            stdout=told,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self) -> subprocess.CompletedProcess[str]:
        """The finished process; its output is in stderr."""
        process = self.start()
        told, _ = process.communicate(timeout=PATIENCE)
        return subprocess.CompletedProcess(self._arguments, process.returncode, "", told)


def disturb(command: Command, after: float, act: Callable[[int], None]) -> tuple[int, str]:
    """Starts a command, acts on its process after some seconds if it still runs; returns its exit
    code and output.
    """
    process = command.start()
    try:
        told, _ = process.communicate(timeout=after)
    except subprocess.TimeoutExpired:
        act(process.pid)
        told, _ = process.communicate(timeout=PATIENCE)
    return process.returncode, told


Moment = tuple[int, float]
"""A number of finished stages of a run, and seconds after that. It does not depend on how busy the
machine is.
"""


def some_moments(draw: random.Random, many: int) -> list[Moment]:
    """Moments of a run before its last stage, in order."""
    return sorted((draw.randrange(5), draw.uniform(0, 5)) for _ in range(many))


def disturb_at(
    moments: Iterable[Moment],
    command: Command,
    act: Callable[[int], bool],
) -> tuple[int, str, int]:
    """Starts a command and acts on its process at some moments; returns its exit code, its output,
    and how often there was something to act on.

    act: returns whether there was. If not, it is tried again until the run ends.
    """
    times, output = 0, command.output.with_suffix(".log")
    with output.open("w") as log, command.start(log) as process:
        for stages, pause in moments:
            while process.poll() is None and finished_stages(command.output) < stages:
                time.sleep(0.1)
            time.sleep(pause)
            while process.poll() is None:
                if act(process.pid):
                    times += 1
                    break
                time.sleep(0.1)
        process.wait(PATIENCE)
    return process.returncode, output.read_text(), times


def finished_stages(output: Path) -> int:
    """How many stages of a run are finished; 0 also if nothing is staged any more."""
    with suppress(OSError, ValueError):  # not there yet, or being written
        return len(json.loads((output / "internal/staging/run.json").read_text())["stages"])
    return 0


def kill_group(pid: int, number: signal.Signals) -> None:
    """Sends a signal to a process and to all that it has started."""
    os.killpg(pid, number)


def workers_of(driver: int, executors: bool) -> list[int]:
    """The processes of a driver's executors, or of their Python workers."""
    commands, below = {}, {driver}
    processes = sorted(int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    for pid in processes:
        with suppress(OSError):  # it has ended
            status = Path(f"/proc/{pid}/stat").read_text()
            if int(status.rpartition(")")[2].split()[1]) in below:
                below.add(pid)
                commands[pid] = Path(f"/proc/{pid}/cmdline").read_text()
    mark = "CoarseGrainedExecutorBackend" if executors else "pyspark.daemon"
    return [pid for pid, command in commands.items() if mark in command]


def seconds_of(command: Command) -> float:
    """The wall time of an undisturbed run."""
    begun = time.monotonic()
    done = command.run()
    assert done.returncode == 0, done.stderr[-LAST_WORDS:]
    return time.monotonic() - begun


def is_whole(output: Path) -> bool:
    """Whether the public folder holds a whole release that matches its certificate: rows, classes
    and files.
    """
    certificate = json.loads((output / "public/certificate.json").read_text())
    table = DeltaTable(output / "public/release").to_pyarrow_table()
    return (
        table.num_rows == certificate["release"]["rows"]
        and (output / "public/report.html").exists()
    )


def nothing_public(output: Path) -> bool:
    """Whether no certificate is public, so that nobody takes what is there for a release."""
    return not (output / "public/certificate.json").exists()
