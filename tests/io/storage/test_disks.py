"""A full disk: the message names it, whether Python, Spark's scratch folder or the release met it."""

from __future__ import annotations

import errno
import re
from pathlib import Path

import pytest

from tclose_spark.io.storage.disks import full_disk

JAVA = (
    "org.apache.spark.SparkException: Job aborted.\nCaused by: java.io.IOException: No space left on device\n\tat {}\n"
)


def test_a_file_that_python_writes_names_its_folder() -> None:
    found = full_disk(OSError(errno.ENOSPC, "No space left on device", "/big/out/internal/run.json"), "/big/out")
    assert found is not None
    assert found.exit_code == 2
    assert str(found).startswith("output: no space is left on the disk of /big/out/internal, or its quota")


@pytest.mark.parametrize(
    "frame", ["org.apache.spark.storage.DiskBlockObjectWriter.write", "o.a.s.shuffle.sort.UnsafeShuffleWriter.write"]
)
def test_sparks_scratch_folder_is_named(frame: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/scratch")
    found = full_disk(RuntimeError(JAVA.format(frame)), "/big/out")
    assert "(spark.local.dir, here /scratch; on a cluster" in str(found)
    assert "set SPARK_LOCAL_DIRS" in str(found)


def test_what_spark_writes_of_the_release_names_the_output() -> None:
    error = RuntimeError("outer")
    error.__cause__ = RuntimeError(JAVA.format("org.apache.hadoop.fs.RawLocalFileSystem$LocalFSFileOutputStream.write"))
    assert "output: no space is left on the disk of /big/out, or its quota" in str(full_disk(error, "/big/out"))


def test_a_file_elsewhere_that_a_task_writes_is_named_and_what_is_free(tmp_path: Path) -> None:
    error = RuntimeError(f"Traceback ..\nOSError: [Errno 28] No space left on device: '{tmp_path}/kernel.nbi'\n")
    found = str(full_disk(error, "/big/out"))
    assert re.match(rf"no space is left on the disk of {tmp_path} \([\d,.]+ MiB free\), or its quota is used up", found)
    assert "output" not in found


def test_other_errors_are_none_of_it() -> None:
    assert full_disk(PermissionError(errno.EACCES, "no", "/x"), "/big/out") is None
    assert full_disk(ValueError("the device has space left"), "/big/out") is None
