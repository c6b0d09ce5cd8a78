"""The state of an input: its commit (the version of a Delta table, the snapshot of an Iceberg
table), or its files.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tclose_spark.io.input.read_errors import READ_ERRORS
from tclose_spark.io.input.states import AS_OF, AT, Commit, state_of_files, walked
from tclose_spark.io.storage.folders import NO_PATTERN, for_spark, local_path
from tclose_spark.runfile.spec import Input


def commit_of(spark: SparkSession, source: Input) -> Commit | None:
    """The commit of a Delta or Iceberg input that is read; None for other inputs."""
    if source.format not in ("delta", "table"):
        return None
    name = source.path if source.format == "table" else f"delta.`{for_spark(source.path)}`"
    try:
        history = spark.sql(f"DESCRIBE HISTORY {name}").selectExpr(
            "version", "timestamp AS time", "version AS place"
        )
        return _newest(history, source)
    except READ_ERRORS:
        return _snapshot(spark, source) if source.format == "table" else None


def _snapshot(spark: SparkSession, source: Input) -> Commit | None:
    """The snapshot of an Iceberg table; None for other tables.

    A snapshot is read with the names and types that columns had when it was written. If the table
    has others by now, the result is None, so that the current table is read.
    """
    try:
        history = spark.table(f"{source.path}.history")
        commit = _newest(
            history.selectExpr(
                "snapshot_id AS version", "made_current_at AS time", "made_current_at AS place"
            ),
            source,
        )
        if commit is None or AS_OF in source.options or AT in source.options:
            return commit
        then = spark.read.option(AS_OF, str(commit.version)).table(source.path)
        return commit if then.dtypes == spark.table(source.path).dtypes else None
    except (*READ_ERRORS, ValueError):  # a branch or tag by its name is no number
        return None


def _newest(history: DataFrame, source: Input) -> Commit | None:
    """The entry of a history (version, time, place in it) that the input's options request,
    otherwise the newest.
    """
    if AS_OF in source.options:
        history = history.where(F.col("version") == int(source.options[AS_OF]))
    if AT in source.options:
        history = history.where(F.col("time") <= F.lit(source.options[AT]).cast("timestamp"))
    latest = history.orderBy(F.desc("place")).select("version", F.col("time").cast("string")).head()
    return None if latest is None else Commit(int(latest[0]), latest[1])


def input_state(spark: SparkSession, source: Input, commit: Commit | None) -> str | None:
    """A value that changes whenever the input does; None for inputs without one, such as a view.

    It is the commit of a Delta or Iceberg table, and names, sizes and times of files.
    """
    if commit is not None:
        return commit.state
    if source.format in ("delta", "table"):
        return None
    folder = local_path(source.path)
    try:
        return state_of_files(_listed(spark, source.path) if folder is None else walked(folder))
    except (OSError, *READ_ERRORS):
        return None


def _listed(spark: SparkSession, path: str) -> Iterable[str]:
    """The same for a path behind a URI. The files are not read."""
    files = (
        spark.read.format("binaryFile").options(**NO_PATTERN, recursiveFileLookup="true").load(path)
    )
    for row in files.select("path", "length", F.col("modificationTime").cast("double")).collect():
        yield f"{row[0]} {row[1]} {row[2]}"
