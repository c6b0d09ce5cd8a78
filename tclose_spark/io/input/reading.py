"""Reading the input of a run, whatever its format, with its columns under their new names."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_type

from tclose_spark.io.input import problems
from tclose_spark.io.input.arrow_frames import as_arrow, is_spark, readable
from tclose_spark.io.input.read_errors import READ_ERRORS, condition_of, meaning
from tclose_spark.io.input.spark.csv_files import read_csv
from tclose_spark.io.input.spark.parquet_files import read_parquet
from tclose_spark.io.storage.folders import for_spark, local_path
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
