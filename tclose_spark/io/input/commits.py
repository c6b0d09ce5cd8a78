"""At which of its states an input is read: a version of a Delta table, a snapshot of an Iceberg table."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tclose_spark.io.input.read_errors import READ_ERRORS
from tclose_spark.io.storage.folders import for_spark
from tclose_spark.runfile.spec import Input

AS_OF, AT = "versionAsOf", "timestampAsOf"


@dataclass(frozen=True)
class Commit:
    """One state of a table: its version in Delta, its snapshot's id in Iceberg; and when that was written."""

    version: int
    time: str


def commit_of(spark: SparkSession, source: Input) -> Commit | None:
    """The commit of a Delta or Iceberg input that is read; None of other inputs."""
    if source.format not in ("delta", "table"):
        return None
    name = source.path if source.format == "table" else f"delta.`{for_spark(source.path)}`"
    try:
        history = spark.sql(f"DESCRIBE HISTORY {name}").selectExpr("version", "timestamp AS time", "version AS place")
        return _newest(history, source)
    except READ_ERRORS:
        return _snapshot(spark, source) if source.format == "table" else None


def version_of(spark: SparkSession, source: Input) -> int | None:
    """The version of `commit_of`, else None."""
    commit = commit_of(spark, source)
    return None if commit is None else commit.version


def _snapshot(spark: SparkSession, source: Input) -> Commit | None:
    """The snapshot of an Iceberg table; None of other tables.

    A snapshot is read with the names and types that columns had when it was written. Where the table has others since,
    none is named, so that the table is read as it shows itself.
    """
    try:
        history = spark.table(f"{source.path}.history")
        commit = _newest(
            history.selectExpr("snapshot_id AS version", "made_current_at AS time", "made_current_at AS place"), source
        )
        if commit is None or AS_OF in source.options or AT in source.options:
            return commit
        then = spark.read.option(AS_OF, str(commit.version)).table(source.path)
        return commit if then.dtypes == spark.table(source.path).dtypes else None
    except (*READ_ERRORS, ValueError):  # a branch or tag by its name is no number
        return None


def _newest(history: DataFrame, source: Input) -> Commit | None:
    """Of a history (version, time, place in it), what the input's options ask for, else the newest."""
    if AS_OF in source.options:
        history = history.where(F.col("version") == int(source.options[AS_OF]))
    if AT in source.options:
        history = history.where(F.col("time") <= F.lit(source.options[AT]).cast("timestamp"))
    latest = history.orderBy(F.desc("place")).select("version", F.col("time").cast("string")).head()
    return None if latest is None else Commit(int(latest[0]), latest[1])
