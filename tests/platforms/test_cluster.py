"""One fingerprint: the stages in processes of their own, through the command and spark-submit, in
local mode and on a cluster.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from standalone import standalone, wait_for

from tclose_spark import pipeline
from tclose_spark.io.run import Run
from tclose_spark.io.spark.installation import to_be_found
from tclose_spark.methods.closeness_tree.effort import ROWS_PER_BLOCK
from tclose_spark.synthetic.census import write_hierarchies, write_people

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
PACKAGES = to_be_found()["spark.jars.packages"]
STAGES = ("profile", "plan", "anonymize", "verify", "report", "publish")


@pytest.fixture(scope="module")
def conf(write_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run file of 200 people in 8 files."""
    folder = tmp_path_factory.mktemp("people")
    (folder / "people.parquet").mkdir()
    people = pa.table(
        {
            "age": [20 + i * 7 % 41 for i in range(200)],
            "sex": ["f" if i * 5 % 9 < 4 else "m" for i in range(200)],
            "disease": [["flu", "flu", "gout", "ulcer", None][i * 3 % 5] for i in range(200)],
            "region": [["north", "south", "east"][i * 2 % 3] for i in range(200)],
        },
    )
    for i in range(8):
        pq.write_table(people.slice(25 * i, 25), folder / f"people.parquet/{i}.parquet")
    return write_run(
        folder,
        None,
        k=8,
        sensitive={"disease": {"t": "0.2"}},
        insensitive_attributes=["region"],
    )


@pytest.fixture(scope="module")
def fingerprint(conf: Path, open_run: Callable[..., Run]) -> str:
    """Of the release that the session of the tests makes."""
    found: str = pipeline.release(open_run(conf))["release"]["fingerprint"]
    return found


def environment(temporary: Path) -> dict[str, str]:
    """The environment of a process that shares no temporary files with others."""
    temporary.mkdir(parents=True)
    return {
        **os.environ,
        "TMPDIR": str(temporary),
        "SPARK_LOCAL_DIRS": str(temporary),
        "PYSPARK_PYTHON": sys.executable,
    }


def run(command: list[Any], env: Mapping[str, str], folder: Path) -> None:
    done = subprocess.run(
        list(map(str, command)),
        env=dict(env),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def submit(job: str, conf: Path, output: Path, temporary: Path, *options: str) -> None:
    """spark-submit jobs/<job>.py, the output set to a folder of its own; no temporary file is left
    to the next.
    """
    submitted = [
        BIN / "spark-submit",
        "--packages",
        PACKAGES,
        *options,
        ROOT / "jobs" / f"{job}.py",
    ]
    run(
        [*submitted, "--config", conf, "--set", f"output.path={output}"],
        environment(temporary),
        conf.parent,
    )
    shutil.rmtree(temporary)


def published(output: Path) -> str:
    found: str = json.loads((output / "public/certificate.json").read_text())["release"][
        "fingerprint"
    ]
    return found


@pytest.mark.slow
def test_the_stages_by_the_command_in_processes_of_their_own(
    conf: Path,
    fingerprint: str,
    tmp_path: Path,
) -> None:
    for stage in STAGES:
        temporary = tmp_path / stage
        run(
            [BIN / "tclose", stage, conf, "--set", f"output.path={tmp_path}/out"],
            environment(temporary),
            tmp_path,
        )
        shutil.rmtree(temporary)
    assert published(tmp_path / "out") == fingerprint


@pytest.mark.slow
def test_the_stages_by_spark_submit(conf: Path, fingerprint: str, tmp_path: Path) -> None:
    for stage in STAGES:
        submit(stage, conf, tmp_path / "out", tmp_path / stage, "--master", "local[2]")
    assert published(tmp_path / "out") == fingerprint


# --- a standalone master with two workers, on this machine


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The URL of a master with two workers, and the folder where the workers keep what they ran
    (w1, w2).
    """
    with standalone(tmp_path_factory.mktemp("cluster")) as daemons:
        for name in ("w1", "w2"):
            daemons.add_worker(name)
        yield daemons.url, daemons.folder


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [("release",), STAGES], ids=["all at once", "stage by stage"])
def test_on_two_workers(
    cluster: tuple[str, Path],
    conf: Path,
    fingerprint: str,
    tmp_path: Path,
    jobs: tuple[str, ...],
) -> None:
    url, folder = cluster
    before = {path for name in ("w1", "w2") for path in (folder / name).glob("app-*")}
    for job in jobs:
        submit(
            job,
            conf,
            tmp_path / "out",
            tmp_path / job,
            "--master",
            url,
            "--conf",
            "spark.executor.memory=700m",
        )
    assert published(tmp_path / "out") == fingerprint
    ran = {
        path.parent.name
        for name in ("w1", "w2")
        for path in (folder / name).glob("app-*")
        if path not in before
    }
    assert ran == {"w1", "w2"}


# --- the closeness tree: several blocks, a lost executor

CROWD = 3 * ROWS_PER_BLOCK
"""People: however large blocks become, they make several."""
FAST = "method.effort=fast"


@dataclass(frozen=True)
class Crowd:
    """The folder of CROWD people, and the fingerprint of their release by the session of the
    tests.
    """

    folder: Path
    fingerprint: str


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory, open_run: Callable[..., Run]) -> Crowd:
    folder = tmp_path_factory.mktemp("crowd")
    write_hierarchies(folder / "hierarchies")
    write_people(folder / "people.parquet", CROWD)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TCLOSE_DEMO", str(folder))
        made = pipeline.release(
            open_run(ROOT / "conf/demo.yaml", f"output.path={folder}/out", FAST),
        )
    record = json.loads((folder / "out/internal/run.json").read_text())
    assert record["stages"]["anonymize"]["method"]["tasks"] >= 2
    return Crowd(folder, made["release"]["fingerprint"])


def executors(ran: Path) -> list[Path]:
    """The folders in /proc of the executors that work in `ran`, the folder of the workers."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with suppress(OSError):  # it has ended
                command = (process / "cmdline").read_bytes()
                if b"CoarseGrainedExecutorBackend" in command and (
                    process / "cwd"
                ).readlink().is_relative_to(ran):
                    found.append(process)
    return found


def executor_at_work(ran: Path, within: float) -> Path:
    """An executor in the middle of a task, by its log: waits for one."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        for process in executors(ran):
            log = (process / "cwd/stderr").read_text()
            if log.rfind("Running task") > log.rfind("Finished task"):
                return process
        time.sleep(0.2)
    raise AssertionError(f"no executor had a task for {within} s")


def begun_again(ran: Path) -> list[str]:
    """The tasks that an executor began because another one had not ended them."""
    logs = "".join(log.read_text() for log in ran.glob("*/app-*/*/stderr"))
    return re.findall(r"Running (task \d+\.[1-9]\d* in stage \S+)", logs)


@pytest.mark.slow
def test_an_executor_that_is_lost_changes_nothing(
    cluster: tuple[str, Path],
    crowd: Crowd,
    tmp_path: Path,
) -> None:
    url, folder = cluster
    log = tmp_path / "submit.log"
    submitted = [
        BIN / "spark-submit",
        "--packages",
        PACKAGES,
        "--master",
        url,
        "--conf",
        "spark.executor.memory=700m",
    ]
    job = [*submitted, ROOT / "jobs/release.py", "--config", ROOT / "conf/demo.yaml"]
    for setting in (f"output.path={tmp_path}/out", FAST):
        job += ["--set", setting]
    env = {**environment(tmp_path / "temporary"), "TCLOSE_DEMO": str(crowd.folder)}
    with log.open("wb") as out:
        running = subprocess.Popen(
            list(map(str, job)),
            env=env,
            cwd=tmp_path,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_for(log, "profile  ")
        wait_for(log, "planned the classes")
        assert len(executors(folder)) == 2
        assert not begun_again(folder)
        os.kill(int(executor_at_work(folder, within=300).name), signal.SIGKILL)
        assert "anonymize" not in log.read_text()
        assert running.wait(timeout=900) == 0, log.read_text()[-2000:]
    finally:
        running.kill()
    assert begun_again(folder)
    assert published(tmp_path / "out") == crowd.fingerprint
