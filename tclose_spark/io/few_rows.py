"""A few rows of a table, for eyes."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tclose_spark.io.tables import quoted


def few_rows(table: DataFrame, many: int) -> list[list[object]]:
    """So many rows from all over a table, the same each time: those with the least hashes of their content, in the
    table's columns. One pass.
    """
    columns = [quoted(name) for name in table.columns]
    drawn = table.select(*columns).orderBy(F.xxhash64(*columns), *columns).limit(many)
    return [list(row) for row in drawn.collect()]
