"""Columns by their exact name, and the types and marks that readers and checks of columns share."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tclose_spark.table.columns import spark_types
from tclose_spark.table.columns.spark_types import MALFORMED as MALFORMED

UNREADABLE = spark_types.UNREADABLE.decode()
"""The key in a column's metadata of why its values cannot be read, and the remedy."""
TYPE = spark_types.TYPE.decode()
"""The key in a column's metadata of the name of its type, if no release can have it and its values
were left behind.
"""
UNSUPPORTED = (
    T.ArrayType,
    T.StructType,
    T.MapType,
    T.VariantType,
    T.NullType,
    T.YearMonthIntervalType,
    T.DayTimeIntervalType,
)
"""Types whose values a hash of a row does not distinguish, or their text does not order."""


def quoted(name: str) -> Column:
    """The column of exactly this name, whatever characters it has."""
    return F.col("`" + name.replace("`", "``") + "`")
