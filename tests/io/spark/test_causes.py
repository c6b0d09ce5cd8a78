"""What stops a start or a run from outside ends in a line that names it, with its exit code, and in
no traceback.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from people import PEOPLE, ROLES
from pyspark.sql import SparkSession

from tclose_spark.api.errors import known, unexpected
from tclose_spark.errors import ConfigurationError
from tclose_spark.io.causes import why_no_session
from tclose_spark.io.spark.cluster import map_batches
from tclose_spark.io.spark.installation import DEFAULT_MASTER, master

pytestmark = pytest.mark.more

ROOT = Path(__file__).resolve().parents[3]
LOST = (
    "An error occurred while calling o98.count.\n"
    ": org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 2.0 "
    "failed 4 times, most recent failure: Lost task 1.3 in stage 2.0 (TID 8) (10.0.0.7 executor "
    "3): "
)


@pytest.fixture
def start(write_run: Callable[..., Path], tmp_path: Path) -> Callable[..., tuple[int, list[str]]]:
    """`start(NAME=value, .., shell=...)`: the exit code and the lines of stderr of a release in a
    process of its own;
    shell: what a shell does first.
    """
    conf = write_run(tmp_path, PEOPLE, **ROLES)

    def started(
        *command: object,
        shell: str = "",
        around: tuple[str, ...] = (),
        **environment: str,
    ) -> tuple[int, list[str]]:
        wanted = [str(part) for part in command or ("-m", "tclose_spark", "release", conf)]
        done = subprocess.run(
            [*around, "sh", "-c", f'{shell}\nexec "$@"', "sh", sys.executable, *wanted],
            env={**os.environ, "TCLOSE_ENGINE": "spark", **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stderr.splitlines()

    return started


def test_too_few_files_are_named(start: Callable[..., tuple[int, list[str]]]) -> None:
    code, (line,) = start(shell="ulimit -n 256")
    assert code == 2
    assert (
        "a process may open 256 files at once here (ulimit -n), which is too few; allow 1024 or "
        "more" in line
    )


def test_a_home_that_cannot_be_written_is_named(
    start: Callable[..., tuple[int, list[str]]],
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    home.touch()
    code, (line,) = start(HOME=str(home), JAVA_TOOL_OPTIONS=f"-Duser.home={home}")
    assert code == 2
    assert f"HOME: {home}/.ivy2.5.2 cannot be written (Not a directory)" in line


@pytest.mark.parametrize("job", [False, True])
def test_a_scratch_folder_that_cannot_be_made_is_named(
    start: Callable[..., tuple[int, list[str]]],
    tmp_path: Path,
    job: bool,
) -> None:
    """Spark ends its JVM then, which takes the text of its error with it."""
    (tmp_path / "file").touch()
    folder = tmp_path / "file/scratch"
    code, (line,) = start(
        *((ROOT / "jobs/release.py", "--config", tmp_path / "run.yaml") if job else ()),
        SPARK_LOCAL_DIRS=str(folder),
    )
    assert code == 2
    assert (
        f"SPARK_LOCAL_DIRS: {folder} cannot take 32 MiB of temporary files (Not a directory); fix "
        "that" in line
    )


@pytest.mark.parametrize("variable", ["SPARK_LOCAL_DIRS", "TMPDIR"])
def test_a_full_disk_is_named_with_what_is_free(
    start: Callable[..., tuple[int, list[str]]],
    tmp_path: Path,
    variable: str,
) -> None:
    own = ("unshare", "--map-root-user", "--mount")
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = f"mount -t tmpfs -o size=512k tmpfs '{disk}'"
    if (
        shutil.which("unshare") is None
        or subprocess.run([*own, "sh", "-c", mount], check=False).returncode
    ):
        pytest.skip("this user may not mount a small disk")
    code, (line,) = start(shell=mount, around=own, **{variable: str(disk)})
    assert code == 2
    free = r"\(0\.\d MiB free\) cannot take 32 MiB of temporary files \(No space left on device\)"
    assert re.search(rf"{variable}: {disk} {free}", line)


@pytest.mark.parametrize("command", ["-m tclose_spark version", f"{ROOT}/jobs/plan.py x.yaml"])
@pytest.mark.parametrize(
    ("error", "says"),
    [
        (
            "OSError(28, 'No space left on device', '/scratch/x/y')",
            "cannot start: no space is left on the disk of /scratch/x, or",
        ),
        ("OSError(24, 'Too many open files')", "files at once here (ulimit -n), which is too few"),
        (
            "FileNotFoundError(2, \"No usable temporary directory found in ['/tmp', '/var/tmp']\")",
            "TMPDIR: no folder for temporary files can be written ('/tmp', '/var/tmp')",
        ),
        (
            "ModuleNotFoundError(\"No module named 'rich'\")",
            "No module named 'rich'; install the package with what",
        ),
        ("RuntimeError('broken')", "tclose cannot start: RuntimeError: broken"),
    ],
)
def test_what_is_met_while_the_package_is_imported_is_2(
    start: Callable[..., tuple[int, list[str]]],
    tmp_path: Path,
    command: str,
    error: str,
    says: str,
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Broken:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == 'tclose_spark.cli': raise {error}\n"
        "sys.meta_path.insert(0, Broken())\n",
    )
    code, (line,) = start(*command.split(), PYTHONPATH=f"{tmp_path}:{ROOT}")
    assert code == 2
    assert line.startswith("error: tclose cannot start: ")
    assert says in line


def test_an_error_that_cannot_be_printed_keeps_its_exit_code(
    start: Callable[..., tuple[int, list[str]]],
) -> None:
    assert start("-m", "tclose_spark", "plan", "none.yaml", shell="exec 2> /dev/full") == (2, [])


def test_a_spark_that_is_none_is_named(
    start: Callable[..., tuple[int, list[str]]],
    tmp_path: Path,
) -> None:
    code, (line,) = start(SPARK_HOME=str(tmp_path))
    assert code == 2
    assert f"SPARK_HOME is '{tmp_path}', where there is no bin/spark-submit" in line


def test_jars_that_hold_no_delta_are_named(
    start: Callable[..., tuple[int, list[str]]],
    tmp_path: Path,
) -> None:
    jar = tmp_path / "delta.jar"
    jar.write_text("cut off")
    code, (line,) = start(TCLOSE_DELTA_JARS=str(jar))
    assert code == 2
    assert f"its jars are damaged (spark.jars: file://{jar})" in line


def test_what_stopped_a_start_does_not_stop_the_next_one(
    start: Callable[..., tuple[int, list[str]]],
    tmp_path: Path,
) -> None:
    """In one process, as a notebook is one. py4j's thread that returns objects may log the end of
    the first JVM at any time afterwards.
    """
    (tmp_path / "file").touch()
    code = (
        "import logging, os\n"
        "from py4j.clientserver import FinalizerWorker\n"
        "from tclose_spark.errors import ConfigurationError\n"
        "from tclose_spark.io.spark.session import get_session\n"
        "try: get_session('first')\n"
        "except ConfigurationError: del os.environ['SPARK_LOCAL_DIRS']\n"
        "class LateWorker(FinalizerWorker):\n"
        "    def run(self): logging.error('Exception while sending command.')\n"
        "late = LateWorker([])\n"
        "late.start()\n"
        "late.join()\n"
        "assert get_session('second').range(3).count() == 3\n"
    )
    assert start("-c", code, SPARK_LOCAL_DIRS=str(tmp_path / "file/x")) == (0, [])


class FromJava(Exception):
    """An error whose text is asked for where nothing answers any more."""

    def __str__(self) -> str:
        raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")

    getCondition = __str__


def test_an_error_of_a_jvm_that_has_ended_is_not_known() -> None:
    assert known(FromJava()) is None
    assert "unexpected FromJava" in unexpected(FromJava())


def test_a_disk_that_takes_nothing_is_named(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    def full(dir: str) -> Any:
        raise OSError(
            errno.ENOSPC if dir == str(tmp_path) else errno.EACCES,
            "No space left on device",
        )

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path}/not/yet")
    assert f"Spark did not start: SPARK_LOCAL_DIRS: {tmp_path}/not/yet" in why_no_session(
        "",
        "no text",
    )


def test_local_sessions_try_tasks_again(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert spark.sparkContext.master == DEFAULT_MASTER == "local[*, 4]"
    monkeypatch.setenv("TCLOSE_MASTER", "local[2]")
    assert master() == "local[2]"


def dies(marks: Path, times: int) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What ends its worker so often, counted by files."""

    def mapper(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if len(list(marks.iterdir())) < times:
                (marks / str(os.getpid())).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    return mapper


def test_a_lost_worker_is_replaced(spark: SparkSession, tmp_path: Path) -> None:
    assert map_batches(spark.range(1000).coalesce(1), dies(tmp_path, 3), "id long").count() == 1000
    assert len(list(tmp_path.iterdir())) == 3


def test_a_worker_that_is_lost_each_time_is_named(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="Python worker exited") as raised:
        map_batches(spark.range(1000).coalesce(1), dies(tmp_path, 4), "id long").count()
    meant = known(raised.value)
    assert meant is not None
    assert meant.exit_code == 70
    assert "a Python worker of Spark was lost (task 0.3 in stage " in str(meant)
    assert "executor driver on localhost, try 4), most likely for want of memory" in str(meant)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            f"{LOST}org.apache.spark.SparkException: Python worker exited unexpectedly (crashed).",
            "a Python worker of",
        ),
        (
            f"{LOST}ExecutorLostFailure (executor 3 exited) Reason: Command exited with code 137",
            "an executor of Spark",
        ),
    ],
)
def test_the_host_of_what_was_lost_is_named(text: str, says: str) -> None:
    meant = str(known(RuntimeError(text)))
    assert meant.startswith(f"{says}")
    assert (
        "was lost (task 1.3 in stage 2.0, executor 3 on 10.0.0.7, try 4), most likely for want of "
        "memory" in meant
    )


def test_a_task_without_memory_is_named() -> None:
    text = (
        "Traceback (most recent call last):\n"
        "  File x\n"
        "numpy._core._exceptions._ArrayMemoryError: Unable to allocate"
    )
    assert "a Python worker of Spark was lost, most likely for want of memory" in str(
        known(RuntimeError(text)),
    )
    assert known(RuntimeError("no MemoryError here")) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "When uploading part: AWS Error SLOW_DOWN during UploadPart operation: AKIA",
            "not answer (slow down); nothing",
        ),
        (
            "java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not "
            "found",
            "no connector to",
        ),
        (
            'org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "gs"',
            "no connector to the file",
        ),
    ],
)
def test_an_object_store_that_is_not_reached_is_named(text: str, says: str) -> None:
    meant = known(OSError(text))
    assert isinstance(meant, ConfigurationError)
    assert says in str(meant)
    assert "AKIA" not in str(meant)


def test_what_stops_a_run_has_its_exit_code() -> None:
    assert isinstance(known(OSError(errno.EMFILE, "Too many open files")), ConfigurationError)
    assert isinstance(
        known(RuntimeError("java.io.IOException: /x/y (Too many open files)")),
        ConfigurationError,
    )


def workers_of(process: int) -> list[int]:
    """Spark's Python workers below a process: children of a daemon."""
    parents, daemons = {}, set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            number = int(folder.name)
            parents[number] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if b"pyspark.daemon" in (folder / "cmdline").read_bytes():
                daemons.add(number)
        except OSError:
            continue  # it has ended

    def is_below(number: int) -> bool:
        return number == process or (number in parents and is_below(parents[number]))

    return [number for number in daemons if parents[number] in daemons and is_below(number)]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
def test_a_release_whose_workers_get_lost_is_the_same(
    conf: Path,
    finished: Path,
    tmp_path: Path,
) -> None:
    set_by_hand = [f"output.path={tmp_path}/out", "engine=spark"]
    given = [part for assignment in set_by_hand for part in ("--set", assignment)]
    command = ["-m", "tclose_spark", "release", str(conf), *given]
    process = subprocess.Popen([sys.executable, *command])
    lost = 0
    while process.poll() is None:
        time.sleep(0.5)
        for worker in workers_of(process.pid)[: lost < 3]:
            time.sleep(1)
            os.kill(worker, signal.SIGKILL)
            lost += 1
    assert (process.returncode, lost) == (0, 3)
    ours, undisturbed = (
        json.loads((folder / "public/certificate.json").read_text())["release"]
        for folder in (tmp_path / "out", finished)
    )
    assert ours == undisturbed
