"""A table in memory as a DataFrame of Spark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_type

from tclose_spark.io.input.arrow_frames import as_arrow, is_spark, readable
from tclose_spark.io.tables.columns import TYPE, UNREADABLE, quoted


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
