"""A release as a catalog table (`output.table`): replaced in one commit, then compared with the verified release.

The rows are copied from the published files, which the verdict covers. Readers see the table before or after. The table
keeps its history: an older release stays readable in it until the catalog's owner vacuums it.
"""

from __future__ import annotations

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tclose_spark.errors import ConfigurationError, GuaranteeError, TcloseError
from tclose_spark.io.tables.columns import quoted
from tclose_spark.io.tables.delta import bare, read_delta

OURS = "tclose.release"
"""The property of tables that releases made: no other table is ever replaced."""


def require_replaceable(table: str, spark: SparkSession) -> None:
    """Raises ConfigurationError if the table was not made by a release, or the catalog does not report on it."""
    try:
        _version(spark, table)
    except PySparkException as error:
        raise ConfigurationError(f"output.table: {table} cannot be read ({error.getCondition()})") from None


def replace_table(release: str, table: str, spark: SparkSession) -> None:
    """Puts the release at a path into the catalog's table in one commit. It may be repeated.

    Raises:
        ConfigurationError: if the table was not made by a release, or the catalog refuses.
        GuaranteeError: if the rows did not arrive; the table is then unchanged.
    """
    name = _quoted(table)
    try:
        before = _version(spark, table)
        rows = read_delta(spark, release)
        writer = bare(rows).sortWithinPartitions(*map(quoted, rows.columns)).writeTo(name).using("delta")
        for key, value in (
            (OURS, "true"),
            ("delta.dataSkippingNumIndexedCols", "0"),
            ("delta.enableChangeDataFeed", "false"),
        ):
            writer = writer.tableProperty(key, value)
        writer.createOrReplace()
        try:
            if not is_same(release, table, spark):
                raise GuaranteeError(f"the rows of the release did not arrive whole in {table}; it is as it was before")
        except TcloseError:
            spark.sql(f"DROP TABLE {name}" if before is None else f"RESTORE TABLE {name} TO VERSION AS OF {before}")
            raise
    except PySparkException as error:
        raise ConfigurationError(f"output.table: {table} cannot be written ({error.getCondition()})") from None


def is_same(release: str, table: str, spark: SparkSession) -> bool:
    """Whether a table has exactly the rows of the release at a path."""
    try:
        return _digest(read_delta(spark, release)) == _digest(spark.table(_quoted(table)))
    except PySparkException as error:
        raise ConfigurationError(f"output.table: {table} cannot be read ({error.getCondition()})") from None


def _digest(rows: DataFrame) -> tuple[list[str], tuple[int | None, ...]]:
    """The columns, the number of rows, and two sums over them; a NULL keeps its place."""
    columns = [F.xxhash64(quoted(name)) for name in rows.columns]
    hashed = rows.select(F.xxhash64(*columns).alias("a"), F.xxhash64(*columns, F.lit(1)).alias("b"))
    counted = hashed.agg(F.count(F.lit(1)), F.sum("a"), F.sum("b")).collect()[0]
    return rows.columns, tuple(counted)


def _version(spark: SparkSession, table: str) -> int | None:
    """The current version of the table; None if it does not exist.

    Raises:
        ConfigurationError: if no release made it.
    """
    name = _quoted(table)
    if not spark.catalog.tableExists(name):
        return None
    properties = {row["key"]: row["value"] for row in spark.sql(f"SHOW TBLPROPERTIES {name}").collect()}
    if OURS not in properties:
        raise ConfigurationError(
            f"output.table: {table} is a table that no release made; name another, or, if it may be replaced, "
            f"ALTER TABLE {table} SET TBLPROPERTIES ('{OURS}' = 'true')"
        )
    return int(spark.sql(f"DESCRIBE HISTORY {name} LIMIT 1").collect()[0]["version"])


def _quoted(table: str) -> str:
    return ".".join(f"`{part}`" for part in table.split("."))
