"""What tells one state of an input from another without reading its rows."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tclose_spark.io.input.commits import Commit
from tclose_spark.io.input.read_errors import READ_ERRORS
from tclose_spark.io.storage.folders import NO_PATTERN, local_path
from tclose_spark.runfile.spec import Input


def input_state(spark: SparkSession, source: Input, commit: Commit | None) -> str | None:
    """What changes whenever the input does: of a Delta or Iceberg table its commit, of files their names, sizes
    and times; None of what has neither, such as a view.

    A commit is its version and its time, since a table that was dropped and made again counts from 0.
    """
    if commit is not None:
        return f"version {commit.version} of {commit.time}"
    if source.format in ("delta", "table"):
        return None
    folder = local_path(source.path)
    try:
        files = _listed(spark, source.path) if folder is None else _walked(folder)
        return hashlib.sha256("\n".join(sorted(files)).encode()).hexdigest()
    except (OSError, *READ_ERRORS):
        return None


def _walked(path: Path) -> Iterable[str]:
    """The files below a path, or the one that it is; behind links too, as Spark reads them."""
    folders = os.walk(path, followlinks=True)
    for file in [Path(folder) / name for folder, _, names in folders for name in names] if path.is_dir() else [path]:
        found = file.stat()
        yield f"{file.relative_to(path)} {found.st_size} {found.st_mtime_ns}"


def _listed(spark: SparkSession, path: str) -> Iterable[str]:
    """The same of a path behind a URI; the files are not read."""
    files = spark.read.format("binaryFile").options(**NO_PATTERN, recursiveFileLookup="true").load(path)
    for row in files.select("path", "length", F.col("modificationTime").cast("double")).collect():
        yield f"{row[0]} {row[1]} {row[2]}"
