"""Reading and writing Delta tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tclose_spark.errors import ConfigurationError
from tclose_spark.io.spark.capabilities import java_of, set_if_allowed, setting, settings_below
from tclose_spark.io.storage.folders import NO_PATTERN, for_spark, open_folder
from tclose_spark.io.tables.columns import quoted
from tclose_spark.io.tables.delta_log import PROPERTIES, data_files, scrub_table

STATISTICS = "parquet.column.statistics.enabled"  # unknown to the Parquet of Spark 4.0
DEFAULTS = "spark.databricks.delta.properties.defaults."
LARGE_VALUES = {
    "parquet.enable.dictionary": "false",
    "parquet.page.size.row.check.min": "1",  # by default Parquet checks sizes only after a hundred values
    "parquet.block.size.row.check.min": "1",
}
"""Parquet options for columns whose values are files or batches of rows."""


def read_delta(spark: SparkSession, path: str, version: int | None = None) -> DataFrame:
    """The Delta table at a path, at a version (None: the last)."""
    at = {} if version is None else {"versionAsOf": str(version)}
    return spark.read.format("delta").options(**at).load(for_spark(path))


def bare(table: DataFrame) -> DataFrame:
    """A table without its columns' metadata, such as comments.

    With Spark 4.0, a column that is given no metadata keeps its own; an expression has none.
    """
    return table.select(
        *[F.coalesce(quoted(name)).alias(name, metadata={}) for name in table.columns]
    )


def write_delta(table: DataFrame, path: str) -> None:
    """Writes a Delta table with its rows and nothing else: no statistics in its log, no change
    feed, no column comments.

    Raises:
        ConfigurationError: if there is a table at the path already.
    """
    try:
        with _no_defaults(table.sparkSession):
            bare(table).write.format("delta").mode("error").options(**PROPERTIES).save(
                for_spark(path)
            )
    except PySparkException as error:
        if "EXISTS" in (error.getCondition() or ""):
            raise ConfigurationError(f"{path} holds a table already") from None
        raise


def write_and_read(table: DataFrame, path: str) -> DataFrame:
    """A table that is written to a path as Delta and then read from there."""
    spark = table.sparkSession
    write_delta(table, path)
    parent, _, name = path.rpartition("/")
    folder = open_folder(parent, spark)
    scrub_table(folder, name)
    if (
        java_of(spark) is None
    ):  # a shared platform, and such may refuse files with a log of Delta beside them
        return read_delta(spark, path)
    files = [for_spark(f"{path}/{file}") for file in data_files(folder, name)]
    # By the names of its files: platforms refuse to read a folder with a log of Delta as anything
    # else.
    return spark.read.schema(table.schema).options(**NO_PATTERN).parquet(*files)


@contextmanager
def _no_defaults(spark: SparkSession) -> Iterator[None]:
    """Cancels a cluster's defaults for new tables, such as column mapping or row tracking, because
    files of a release are read directly. Neither files nor log have statistics.
    """
    held: dict[str, str | None] = {
        STATISTICS: setting(spark, STATISTICS),
        **settings_below(spark, DEFAULTS),
    }
    for key in held:
        set_if_allowed(spark, key, "false" if key == STATISTICS else None)
    try:
        yield
    finally:
        for key, value in held.items():
            set_if_allowed(spark, key, value)
