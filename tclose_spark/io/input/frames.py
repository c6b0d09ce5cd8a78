"""A table in memory as an input of a run: a temporary view of Spark, as long as the run reads it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_type

from tclose_spark.errors import TcloseError
from tclose_spark.io.input.arrow_frames import as_arrow, is_spark, readable
from tclose_spark.io.tables.columns import UNREADABLE, quoted

TOLD = "the table that was given"
"""What messages call a table in memory."""


def as_dataframe(spark: SparkSession, table: Any) -> DataFrame:
    """A table in memory on a session; a DataFrame as it is. Nothing is written where others can read: Spark takes the
    rows from a file of its own folder, which only this user reads, and removes it.

    Raises:
        InputError: naming a column that cannot be had.
    """
    if is_spark(table):
        return table  # type: ignore[no-any-return]
    arrow, lost = readable(as_arrow(table))
    schema = T.StructType([T.StructField(field.name, _spark_type(field.type)) for field in arrow.schema])
    made = spark.createDataFrame(arrow, schema)
    return made.select(
        *[quoted(c).alias(c, metadata={UNREADABLE: lost[c]}) if c in lost else quoted(c) for c in made.columns]
    )


def _spark_type(kind: pa.DataType) -> T.DataType:
    """As Spark reads it from Parquet: a time without a zone has none."""
    return from_arrow_type(kind, prefer_timestamp_ntz=True)


@contextmanager
def viewed(spark: SparkSession, table: Any, name: str) -> Iterator[None]:
    """The table is the view of this name while the body runs; errors call it `TOLD`."""
    as_dataframe(spark, table).createOrReplaceTempView(name)
    try:
        yield
    except TcloseError as error:
        text = str(error).replace(f"input.path: {name}", TOLD).replace(name, TOLD)
        error.args = (text.replace("input.path: ", ""),)
        raise
    finally:
        spark.catalog.dropTempView(name)
