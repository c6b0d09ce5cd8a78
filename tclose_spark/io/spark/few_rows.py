"""A few rows of a table, for eyes."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tclose_spark.io.tables.columns import quoted

EACH = 50  # rows that are drawn for each that is wanted, since those of a class are alike


def few_rows(table: DataFrame, many: int) -> list[list[object]]:
    """So many different rows from all over a table, in its columns: those with the least hashes of their content,
    which are the same each time. One pass.
    """
    columns = [quoted(name) for name in table.columns]
    drawn = table.select(*columns).orderBy(F.xxhash64(*columns), *columns).limit(many * EACH).collect()
    return [list(row) for row in {repr(row): row for row in drawn}.values()][:many]
