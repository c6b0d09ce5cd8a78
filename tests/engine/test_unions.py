"""The rows of several tables as one table, on both engines."""

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tclose_spark.engine.tables import collect, map_batches, of_arrow, schema_of, union
from tclose_spark.io.local_session import LocalSession

TOWN = pa.table({"name": ["a", None], "age": pa.array([30, 40], pa.int64())})
VILLAGE = pa.table({"name": ["a"], "age": pa.array([None], pa.int64())})
NOBODY = TOWN.slice(0, 0)


@pytest.mark.parametrize("on", ["local", "spark"])
@pytest.mark.parametrize(
    "tables", [[TOWN], [TOWN, VILLAGE], [NOBODY, VILLAGE, TOWN, TOWN], [NOBODY, NOBODY]]
)
def test_a_union_has_the_rows_of_all_its_tables(
    on: str, tables: list[pa.Table], spark: SparkSession
) -> None:
    session: Any = LocalSession() if on == "local" else spark
    made = union([of_arrow(session, table) for table in tables])
    assert schema_of(made).names == ["name", "age"]
    rows = [row for table in tables for row in table.to_pylist()]
    for found in (made, map_batches(made, lambda batches: batches, TOWN.schema)):
        assert sorted(map(repr, collect(found).to_pylist())) == sorted(map(repr, rows))
