"""Reading the input of a run, whatever its format, with its columns under their new names; and the
state of an input: its commit (the version of a Delta table, the snapshot of an Iceberg table), or
its files.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_type

from tclose_spark.io.input import problems
from tclose_spark.io.input.arrow_frames import as_arrow, is_spark, readable
from tclose_spark.io.input.read_errors import READ_ERRORS, condition_of, meaning
from tclose_spark.io.input.spark.csv_files import read_csv
from tclose_spark.io.input.spark.parquet_files import read_parquet
from tclose_spark.io.input.states import AS_OF, AT, Commit, state_of_files, walked
from tclose_spark.io.storage.folders import NO_PATTERN, for_spark, local_path
from tclose_spark.io.tables.columns import TYPE, UNREADABLE, quoted
from tclose_spark.io.tables.delta_log import LOGS
from tclose_spark.runfile.spec import Input
from tclose_spark.table.column_names.names import renamed as renamed


def as_dataframe(spark: SparkSession, table: Any) -> DataFrame:
    """A table in memory as a DataFrame of the session. Nothing is written where others can read it:
    Spark takes the rows from a file that only this user can read, and removes it.

    Raises:
        InputError: naming a column that is unreadable.
    """
    if is_spark(table):
        return table  # type: ignore[no-any-return]
    given = as_arrow(table)
    arrow, lost = readable(given)
    schema = T.StructType(
        [T.StructField(field.name, _spark_type(field.type)) for field in arrow.schema]
    )
    made = spark.createDataFrame(arrow, schema)
    notes = {name: {UNREADABLE: why} for name, why in lost.items()}
    for field in given.schema:
        if TYPE.encode() in (field.metadata or {}):
            notes[field.name] = {TYPE: field.metadata[TYPE.encode()].decode()}
    return made.select(*[quoted(c).alias(c, metadata=notes.get(c, {})) for c in made.columns])


def _spark_type(kind: pa.DataType) -> T.DataType:
    """The type that Spark reads from Parquet: a time without a zone stays without one."""
    return from_arrow_type(kind, prefer_timestamp_ntz=True)


NOT_FOUND = (
    "PATH_NOT_FOUND",
    "TABLE_OR_VIEW_NOT_FOUND",
    "DELTA_TABLE_NOT_FOUND",
    "DELTA_MISSING_DELTA_TABLE",
    "DELTA_PATH_DOES_NOT_EXIST",
)


def read_table(spark: SparkSession, source: Input, version: int | None = None) -> DataFrame:
    """The raw table with its columns under their new names. A CSV file is read as text unless
    `inferSchema` is set, with its malformed rows marked in MALFORMED.

    version: of a Delta or Iceberg table (see `commit_of`), to read that state.

    Raises:
        InputError: if it is missing or cannot be read as its format, or lacks a column that has a
            new name.
    """
    table = _read(spark, source, version)
    return table.toDF(*renamed(table.columns, source.columns)) if source.columns else table


def _read(spark: SparkSession, source: Input, version: int | None) -> DataFrame:
    reader = spark.read.options(**source.options)
    folder = local_path(source.path)
    if source.format in ("csv", "parquet") and folder is not None and (folder / LOGS).is_dir():
        raise problems.is_delta(source)
    try:
        if source.format == "csv":
            return read_csv(spark, source)
        if source.format == "parquet":
            return read_parquet(spark, source)
        if version is not None:
            options = {
                key: value for key, value in source.options.items() if key != "timestampAsOf"
            }
            reader = spark.read.options(**{**options, "versionAsOf": str(version)})
        if source.format == "table":
            return reader.table(source.path)
        return reader.format(source.format).load(for_spark(source.path))
    except READ_ERRORS as error:
        condition = condition_of(error)
        if condition.startswith(NOT_FOUND):
            raise problems.missing(source) from None
        known = meaning(error, source)
        if known is not None:
            raise known from None
        raise problems.not_of_format(source, condition or type(error).__name__) from None


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
