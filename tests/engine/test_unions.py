"""The rows of several tables as one table, and what their tasks find as one value, on both engines."""

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tclose_spark.engine.tables import collect, map_batches, merged, of_arrow, schema_of, union
from tclose_spark.io.local_session import LocalSession

TOWN = pa.table({"name": ["a", None], "age": pa.array([30, 40], pa.int64())})
VILLAGE = pa.table({"name": ["a"], "age": pa.array([None], pa.int64())})
NOBODY = TOWN.slice(0, 0)


@pytest.mark.parametrize("on", ["local", "spark"])
@pytest.mark.parametrize(
    "tables",
    [[TOWN], [TOWN, VILLAGE], [NOBODY, VILLAGE, TOWN, TOWN], [NOBODY, NOBODY]],
)
def test_a_union_has_the_rows_of_all_its_tables(
    on: str,
    tables: list[pa.Table],
    spark: SparkSession,
) -> None:
    session: Any = LocalSession() if on == "local" else spark
    made = union([of_arrow(session, table) for table in tables])
    assert schema_of(made).names == ["name", "age"]
    rows = [row for table in tables for row in table.to_pylist()]
    for found in (made, map_batches(made, lambda batches: batches, TOWN.schema)):
        assert sorted(map(repr, collect(found).to_pylist())) == sorted(map(repr, rows))


@pytest.mark.parametrize("on", ["local", "spark"])
@pytest.mark.parametrize(
    "tables",
    [[TOWN], [NOBODY, VILLAGE, TOWN, TOWN], [VILLAGE, NOBODY]],
    ids=len,
)
def test_what_tasks_find_is_merged_over_batches_and_tasks(
    on: str,
    tables: list[pa.Table],
    spark: SparkSession,
) -> None:
    session: Any = LocalSession() if on == "local" else spark
    table = union([of_arrow(session, one) for one in tables])
    ages = [age for one in tables for age in one["age"].to_pylist()]
    found = merged(table, lambda batch: batch["age"].to_pylist(), lambda one, other: [*one, *other])
    assert sorted(map(repr, found)) == sorted(map(repr, ages))
