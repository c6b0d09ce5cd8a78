"""A full disk: the message names it, whether Python, Spark's scratch folder or the release
met it.
"""

from __future__ import annotations

import errno
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tclose_spark.io.causes import full_disk

JAVA = (
    "org.apache.spark.SparkException: Job aborted.\n"
    "Caused by: java.io.IOException: No space left on device\n"
    "\tat {}\n"
)


def test_a_file_that_python_writes_names_its_folder() -> None:
    found = full_disk(
        OSError(errno.ENOSPC, "No space left on device", "/big/out/internal/run.json"),
        "/big/out",
    )
    assert found is not None
    assert found.exit_code == 2
    assert str(found).startswith(
        "output: no space is left on the disk of /big/out/internal, or its quota",
    )


@pytest.mark.parametrize(
    "frame",
    [
        "org.apache.spark.storage.DiskBlockObjectWriter.write",
        "o.a.s.shuffle.sort.UnsafeShuffleWriter.write",
    ],
)
def test_sparks_scratch_folder_is_named(frame: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/scratch")
    found = full_disk(RuntimeError(JAVA.format(frame)), "/big/out")
    assert "(spark.local.dir, here /scratch; on a cluster" in str(found)
    assert "set SPARK_LOCAL_DIRS" in str(found)


def test_what_spark_writes_of_the_release_names_the_output() -> None:
    error = RuntimeError("outer")
    error.__cause__ = RuntimeError(
        JAVA.format("org.apache.hadoop.fs.RawLocalFileSystem$LocalFSFileOutputStream.write"),
    )
    assert "output: no space is left on the disk of /big/out, or its quota" in str(
        full_disk(error, "/big/out"),
    )


def test_a_file_elsewhere_that_a_task_writes_is_named_and_what_is_free(tmp_path: Path) -> None:
    error = RuntimeError(
        f"Traceback ..\nOSError: [Errno 28] No space left on device: '{tmp_path}/kernel.nbi'\n",
    )
    found = str(full_disk(error, "/big/out"))
    assert re.match(
        rf"no space is left on the disk of {tmp_path} \([\d,.]+ MiB free\), or its quota is used up",
        found,
    )
    assert "output" not in found


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EROFS, os.strerror(errno.EROFS), "/big/out/internal/run.json"),
        RuntimeError(
            "Caused by: java.io.FileNotFoundException: /big/out/x (Read-only file system)",
        ),
        OSError("Generic LocalFileSystem error: Read-only file system (os error 30)"),
    ],
    ids=["python", "spark", "delta"],
)
def test_a_disk_that_becomes_read_only_is_named(error: Exception) -> None:
    assert re.match(
        r"output: the disk of /big/out(/internal)? has become read-only; make it",
        str(full_disk(error, "/big/out")),
    )


def test_other_errors_are_none_of_it() -> None:
    assert full_disk(PermissionError(errno.EACCES, "no", "/x"), "/big/out") is None
    assert full_disk(ValueError("the device has space left"), "/big/out") is None


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EFBIG, "File too large", "/out/x"),
        RuntimeError(
            "java.io.IOException: File too large\n\tat java.io.FileOutputStream.writeBytes",
        ),
    ],
)
def test_a_limit_of_the_size_of_files_is_named(error: Exception) -> None:
    assert "a file became too large: this process or its disk allows no larger file" in str(
        full_disk(error, "/out"),
    )


def test_a_release_beyond_the_limit_of_files_publishes_nothing(
    run_file: Callable[..., Path],
) -> None:
    many = {
        "age": [i % 90 for i in range(6000)],
        "sex": ["f", "m"] * 3000,
        "disease": ["flu", "gout"] * 3000,
    }
    path = run_file(many)
    done = subprocess.run(
        [sys.executable, "-m", "tclose_spark", "release", path, "--engine", "local"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert (
        "allows files of at most 4,096 bytes (ulimit -f); raise the limit"
        in done.stderr.splitlines()[-1]
    )
    assert not (path.parent / "out/public").exists()
    assert not (path.parent / "out/internal/lock").exists()
