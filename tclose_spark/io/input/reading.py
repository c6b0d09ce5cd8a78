"""Reading the input of a run, whatever its format, with its columns under their new names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from tclose_spark.errors import InputError
from tclose_spark.io.input.csv_files import read_csv
from tclose_spark.io.input.parquet_files import read_parquet
from tclose_spark.io.input.read_errors import READ_ERRORS, condition_of, meaning
from tclose_spark.io.storage.folders import for_spark
from tclose_spark.io.tables.columns import MALFORMED
from tclose_spark.runfile.spec import Input
from tclose_spark.table.column_names.names import instead_of

NOT_FOUND = (
    "PATH_NOT_FOUND",
    "TABLE_OR_VIEW_NOT_FOUND",
    "DELTA_TABLE_NOT_FOUND",
    "DELTA_MISSING_DELTA_TABLE",
    "DELTA_PATH_DOES_NOT_EXIST",
)


def read_table(spark: SparkSession, source: Input, version: int | None = None) -> DataFrame:
    """The raw table with its columns under their new names. A CSV file is read as text unless `inferSchema` is set,
    with its malformed rows marked in MALFORMED.

    version: of a Delta or Iceberg table (see `commit_of`), to read that state.

    Raises:
        InputError: if it is missing or cannot be read as its format, or lacks a column that has a new name.
    """
    table = _read(spark, source, version)
    return table.toDF(*renamed(table.columns, source.columns)) if source.columns else table


def renamed(names: Sequence[str], columns: Mapping[str, str]) -> list[str]:
    """The names of a table's columns after `input.columns`.

    >>> renamed(["zip code", "age"], {"zip code": "zip"})
    ['zip', 'age']

    Raises:
        InputError: if one that has a new name is not there, or a new name is another column's.
    """
    known = [name for name in names if name != MALFORMED]
    for old in columns:
        if old not in known:
            raise InputError(f"input.columns: column {old!r} is not in the input; {instead_of(old, known, columns)}")
    new = [columns.get(name, name) for name in names]
    lower = [name.lower() for name in new]
    for old, name in columns.items():
        if lower.count(name.lower()) > 1:
            raise InputError(
                f"input.columns: {old!r} becomes {name!r}, as which the input has another column (up to case); rename "
                "that one, too, or take another name"
            )
    return new


def _read(spark: SparkSession, source: Input, version: int | None) -> DataFrame:
    reader = spark.read.options(**source.options)
    try:
        if source.format == "csv":
            return read_csv(spark, source)
        if source.format == "parquet":
            return read_parquet(spark, source)
        if version is not None:
            options = {key: value for key, value in source.options.items() if key != "timestampAsOf"}
            reader = spark.read.options(**{**options, "versionAsOf": str(version)})
        if source.format == "table":
            return reader.table(source.path)
        return reader.format(source.format).load(for_spark(source.path))
    except READ_ERRORS as error:
        condition = condition_of(error)
        if condition.startswith(NOT_FOUND):
            raise InputError(f"input.path: {source.path} does not exist") from None
        known = meaning(error, source)
        if known is not None:
            raise known from None
        raise InputError(
            f"input.path: {source.path} cannot be read as {source.format} ({condition or type(error).__name__})"
        ) from None
