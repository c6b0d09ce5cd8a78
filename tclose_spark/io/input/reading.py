"""Reading the input of a run, whatever its format, with its columns under their new names; and the
state of an input: its commit (the version of a Delta table, the snapshot of an Iceberg table), or
its files.

Readers of Parquet files mark types that Spark does not support, and name files that are not
Parquet.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_type

from tclose_spark.io.input import problems
from tclose_spark.io.input.arrow_frames import as_arrow, brackets_of, is_spark, readable
from tclose_spark.io.input.csv_on_spark import read_csv
from tclose_spark.io.input.read_errors import READ_ERRORS, condition_of, meaning
from tclose_spark.io.input.states import AS_OF, AT, Commit, state_of_files, walked
from tclose_spark.io.spark.cluster import java_of, set_if_allowed, setting
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
        [T.StructField(field.name, _spark_type(field.type)) for field in arrow.schema],
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
            "version",
            "timestamp AS time",
            "version AS place",
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
                "snapshot_id AS version",
                "made_current_at AS time",
                "made_current_at AS place",
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


AS_A_NUMBER = re.compile(r"0|-?[1-9][0-9]*|-?(0|[1-9][0-9]*)\.[0-9]*[1-9]")
"""The one text of a number: no zeros in front, or behind the point."""
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
NANOS_AS_LONG = "spark.sql.legacy.parquet.nanosAsLong"


def read_parquet(spark: SparkSession, source: Input) -> DataFrame:
    """The table. A column of timestamps in nanoseconds, which Spark does not support, is marked in
    its metadata; in a local file also one of durations, or of times of a zone.
    """
    reader = spark.read.options(**source.options)
    try:
        table = reader.parquet(for_spark(source.path))
    except READ_ERRORS as error:
        if "PARQUET_TYPE_ILLEGAL" not in str(error):
            raise
        table = _with_nanoseconds(spark, source)
    _require_partitions_as_written(table, source)
    files = [path for file in table.inputFiles() if (path := local_path(file)) and path.is_file()]
    empty = [path for path in files if not path.stat().st_size]
    if empty:
        raise problems.empty_parquet(f"input.path: {empty[0].name}")
    schemas = {str(path): schema for path in files if (schema := _schema(path)) is not None}
    if not _merges_schemas(spark, source):
        problems.require_columns_alike({path: schema.names for path, schema in schemas.items()})
    fields = {field.name: field for schema in schemas.values() for field in schema}
    why = {
        name: problems.not_of_spark(one.type)
        for name, one in fields.items()
        if pa.types.is_duration(one.type)
    }
    why |= {
        name: problems.of_zone(one.type)
        for name, one in fields.items()
        if problems.of_zone(one.type)
    }
    return _with_intervals(
        _marked(table, why),
        {n: b for n, one in fields.items() if (b := brackets_of(one))},
    )


def _require_partitions_as_written(table: DataFrame, source: Input) -> None:
    """Raises InputError if the folders of a partition column, which Spark reads as numbers, have a
    text that no number is written as, such as 01: two texts would become one number.
    """
    numbers = {
        field.name for field in table.schema.fields if isinstance(field.dataType, T.NumericType)
    }
    root = source.path.rstrip("/")
    paths = [unquote(file) for file in table.inputFiles()]
    below = [path.partition(root)[2] if root in path else path for path in paths]
    for folder in {folder for path in below for folder in path.split("/")[:-1]}:
        name, _, text = folder.partition("=")
        if name in numbers and not AS_A_NUMBER.fullmatch(text) and text != NO_VALUE:
            raise problems.partition_of_other_numbers(name)


def _with_intervals(table: DataFrame, brackets: Mapping[str, str]) -> DataFrame:
    """The table with columns of intervals as texts (`interval_texts`)."""
    for name, pair in brackets.items():
        ends = [quoted(name)[side].cast("string") for side in ("left", "right")]
        table = table.withColumn(
            name,
            F.concat(F.lit(pair[0]), ends[0], F.lit(", "), ends[1], F.lit(pair[1])),
        )
    return table


def _merges_schemas(spark: SparkSession, source: Input) -> bool:
    given = {key.lower(): value for key, value in source.options.items()}.get("mergeschema")
    return (given or setting(spark, "spark.sql.parquet.mergeSchema") or "false").lower() == "true"


def _schema(path: Path) -> pa.Schema | None:
    """The columns of a file by its footer; None if pyarrow does not read it."""
    try:
        return pq.read_schema(path)
    except (pa.ArrowException, OSError):
        return None


def _marked(table: DataFrame, why: Mapping[str, str]) -> DataFrame:
    """The table with the reasons of unreadable columns in their metadata."""
    if not why:
        return table
    return table.select(
        *[
            quoted(c).alias(c, metadata={UNREADABLE: why[c]}) if c in why else quoted(c)
            for c in table.columns
        ],
    )


def _with_nanoseconds(spark: SparkSession, source: Input) -> DataFrame:
    before = setting(spark, NANOS_AS_LONG) or "false"
    set_if_allowed(spark, NANOS_AS_LONG, "true")
    try:
        table = spark.read.options(**source.options).parquet(for_spark(source.path))
    finally:
        set_if_allowed(spark, NANOS_AS_LONG, before)
    return _marked(table, dict.fromkeys(_nanosecond_columns(spark, table), problems.NANOSECONDS))


def _nanosecond_columns(spark: SparkSession, table: DataFrame) -> set[str]:
    """The columns that the footer of a file declares as timestamps in nanoseconds; without a
    readable footer, all candidates.
    """
    java = java_of(spark)
    with contextlib.suppress(PySparkException, Py4JError, IndexError):
        if java is not None:
            file = java.jvm.org.apache.hadoop.fs.Path(unquote(table.inputFiles()[0]))
            footer = java.jvm.org.apache.parquet.hadoop.ParquetFileReader.readFooter(
                java.hadoop,
                file,
            )
            fields = footer.getFileMetaData().getSchema().getFields()
            return {
                field.getName()
                for field in fields
                if "TIMESTAMP(NANOS" in str(field.getLogicalTypeAnnotation())
            }
    return {field.name for field in table.schema.fields if isinstance(field.dataType, T.LongType)}
