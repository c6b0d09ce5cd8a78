"""A release as a catalog table (`output.table`): replaced in one commit, then compared with the
verified release.

The rows are copied from the published files, which the verdict covers. Readers see the table before
or after. The table keeps its history: an older release stays readable in it until the catalog's
owner vacuums it, or expires its snapshot. It is a Delta table, and an Iceberg table in a catalog of
Iceberg's.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tclose_spark.errors import ConfigurationError, GuaranteeError, TcloseError
from tclose_spark.io.input.states import AS_OF
from tclose_spark.io.spark.cluster import setting
from tclose_spark.io.tables.columns import quoted
from tclose_spark.io.tables.delta import bare, read_delta

OURS = "tclose.release"
"""The property of tables that releases made: no other table is ever replaced."""
PROPERTIES: Mapping[str, Mapping[str, str]] = {
    "delta": {
        OURS: "true",
        "delta.dataSkippingNumIndexedCols": "0",
        "delta.enableChangeDataFeed": "false",
    },
    "iceberg": {OURS: "true", "write.metadata.metrics.default": "none"},
}
"""Of a table that a release makes, by its format. Neither its log nor its manifests have statistics
of columns.
"""


def require_replaceable(table: str, spark: SparkSession) -> None:
    """Raises ConfigurationError if the table was not made by a release, or the catalog does not
    report on it.
    """
    try:
        _version(spark, table)
    except PySparkException as error:
        raise ConfigurationError(
            f"output.table: {table} cannot be read ({error.getCondition()})",
        ) from None


def replace_table(release: str, table: str, spark: SparkSession) -> None:
    """Puts the release at a path into the catalog's table in one commit. It may be repeated.

    Raises:
        ConfigurationError: if the table was not made by a release, or the catalog refuses.
        GuaranteeError: if the rows did not arrive; the table is then unchanged.
    """
    try:
        before = _version(spark, table)
        _write(read_delta(spark, release), table)
        try:
            if not is_same(release, table, spark):
                raise GuaranteeError(
                    f"the rows of the release did not arrive whole in {table}; it is as it was "
                    "before",
                )
        except TcloseError:
            _take_back(spark, table, before)
            raise
    except PySparkException as error:
        raise ConfigurationError(
            f"output.table: {table} cannot be written ({error.getCondition()})",
        ) from None


def _write(rows: DataFrame, table: str) -> None:
    """Replaces the table by these rows in one commit, or creates it."""
    kind = _format(rows.sparkSession, table)
    writer = (
        bare(rows)
        .sortWithinPartitions(*map(quoted, rows.columns))
        .writeTo(_quoted(table))
        .using(kind)
    )
    for key, value in PROPERTIES[kind].items():
        writer = writer.tableProperty(key, value)
    writer.createOrReplace()


def _take_back(spark: SparkSession, table: str, before: int | None) -> None:
    """Makes the table what it was at a version; None: drops it."""
    if before is None:
        spark.sql(f"DROP TABLE {_quoted(table)}")
    elif _format(spark, table) == "delta":
        spark.sql(f"RESTORE TABLE {_quoted(table)} TO VERSION AS OF {before}")
    else:  # a rollback to a snapshot leaves the columns as they are, and another release may have others
        name = _quoted(table)
        _write(
            spark.read.option(AS_OF, str(before)).table(name)
            if before
            else spark.table(name).limit(0),
            table,
        )


def is_same(release: str, table: str, spark: SparkSession) -> bool:
    """Whether a table has exactly the rows of the release at a path."""
    try:
        return _digest(read_delta(spark, release)) == _digest(spark.table(_quoted(table)))
    except PySparkException as error:
        raise ConfigurationError(
            f"output.table: {table} cannot be read ({error.getCondition()})",
        ) from None


def _digest(rows: DataFrame) -> tuple[list[str], tuple[int | None, ...]]:
    """The columns, the number of rows, and two sums over them; a NULL keeps its place."""
    columns = [F.xxhash64(quoted(name)) for name in rows.columns]
    hashed = rows.select(F.xxhash64(*columns).alias("a"), F.xxhash64(*columns, F.lit(1)).alias("b"))
    counted = hashed.agg(F.count(F.lit(1)), F.sum("a"), F.sum("b")).collect()[0]
    return rows.columns, tuple(counted)


def _version(spark: SparkSession, table: str) -> int | None:
    """The current version of the table, or its snapshot in Iceberg (0: none yet); None if the table
    does not exist.

    Raises:
        ConfigurationError: if no release made it.
    """
    name = _quoted(table)
    if not spark.catalog.tableExists(name):
        return None
    properties = {
        row["key"]: row["value"] for row in spark.sql(f"SHOW TBLPROPERTIES {name}").collect()
    }
    if OURS not in properties:
        raise ConfigurationError(
            f"output.table: {table} is a table that no release made; name another, or, if it may "
            f"be replaced, ALTER TABLE {table} SET TBLPROPERTIES ('{OURS}' = 'true')",
        )
    if _format(spark, table) == "delta":
        return int(spark.sql(f"DESCRIBE HISTORY {name} LIMIT 1").collect()[0]["version"])
    current = spark.table(f"{name}.refs").where("name = 'main'").select("snapshot_id").head()
    return 0 if current is None else int(current[0])


def _format(spark: SparkSession, table: str) -> str:
    """The format of tables in the catalog of this one, by the catalog's class."""
    first = table.partition(".")[0]
    made = [
        setting(spark, f"spark.sql.catalog.{name}")
        for name in (first, spark.catalog.currentCatalog())
    ]
    return "iceberg" if (made[0] or made[1] or "").startswith("org.apache.iceberg.") else "delta"


def _quoted(table: str) -> str:
    return ".".join(f"`{part}`" for part in table.split("."))
