"""Shuffles have tasks by rows, the session keeps its own number; and rows come to the tasks that
they are sent to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tclose_spark.api.errors import known
from tclose_spark.auditing.audit import audit_table
from tclose_spark.auditing.question import question_from_columns
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.engine.tables import MixedTasksError, the_task
from tclose_spark.errors import ConfigurationError
from tclose_spark.io.spark.cluster import (
    PARTITIONS,
    ROWS_A_TASK,
    SENDS_TO_TASKS,
    by_key,
    by_number,
    keys_of_tasks,
    sized_shuffles,
)


@pytest.mark.parametrize(
    ("rows", "tasks"),
    [(0, "1"), (1, "1"), (ROWS_A_TASK, "1"), (ROWS_A_TASK + 1, "2"), (10**9, "10000")],
)
def test_tasks_follow_from_rows(spark: SparkSession, rows: int, tasks: str) -> None:
    before = spark.conf.get(PARTITIONS)
    with sized_shuffles(spark, rows):
        assert spark.conf.get(PARTITIONS) == tasks
    assert spark.conf.get(PARTITIONS) == before


def test_the_sessions_number_is_put_back_after_an_error(spark: SparkSession) -> None:
    before = spark.conf.get(PARTITIONS)
    with pytest.raises(ZeroDivisionError), sized_shuffles(spark, 10**9):
        1 / 0  # noqa: B018
    assert spark.conf.get(PARTITIONS) == before


def test_an_audit_writes_no_crowd_of_files(
    spark: SparkSession,
    settings: Callable[..., Any],
    tmp_path: Path,
) -> None:
    people = spark.createDataFrame(
        [(f"zip {i % 10}", "flu" if i % 3 else "gout") for i in range(60)],
        "zip string, disease string",
    )
    with settings({PARTITIONS: "200"}):
        audit_table(
            AuditTables(table=people),
            question_from_columns(
                ["zip"],
                {"disease": {"t": "0.5"}},
                k=2,
                classes_output=str(tmp_path / "classes"),
                attacks=False,
            ),
        )
    assert len(list((tmp_path / "classes").glob("*.parquet"))) == 1


WAYS = [
    pytest.param(
        by_number,
        marks=pytest.mark.skipif(not SENDS_TO_TASKS, reason="came with Spark 4.1"),
    ),
    by_key,
]


@pytest.mark.parametrize("tasks", [1, 2, 5000])
def test_spark_sends_the_key_of_a_task_to_it(spark: SparkSession, tasks: int) -> None:
    keys = spark.createDataFrame(pa.table({"key": keys_of_tasks(spark, tasks)}))
    sent = keys.select(F.pmod(F.hash("key"), F.lit(tasks)).alias("task")).toArrow()
    assert np.array_equal(sent["task"].to_numpy(), np.arange(tasks))


def brought(way: Callable[..., DataFrame], table: DataFrame, tasks: int) -> pa.Table:
    """The rows of a table (`id`, `task`) after they were sent: `partition`, where each is, `task`,
    and its id.
    """

    def say(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            ids = batch.column("id").cast(pa.string()).cast(pa.binary())
            yield pa.RecordBatch.from_arrays(
                [batch.column("task").cast(pa.int32()), ids],
                names=["task", "rows"],
            )

    def tell(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        for batch in batches:
            place = pa.array(np.full(batch.num_rows, context.partitionId()))
            yield pa.RecordBatch.from_arrays(
                [place, *batch.columns],
                names=["partition", *batch.schema.names],
            )

    sent = way(table, say, T.StructType.fromDDL("task int, rows binary"), tasks)
    return sent.mapInArrow(tell, "partition bigint, task int, rows binary").toArrow()


@pytest.mark.parametrize("tasks", [1, 2, 7, 64])
@pytest.mark.parametrize("way", WAYS)
def test_every_row_comes_to_its_task(
    spark: SparkSession,
    way: Callable[..., Any],
    tasks: int,
) -> None:
    rows = 3 * tasks + 5
    table = spark.range(0, rows, 1, 3).select("id", (F.col("id") * 7 % tasks).alias("task"))
    came = brought(way, table, tasks)
    assert came["partition"].to_pylist() == came["task"].to_pylist()
    assert Counter(came["rows"].to_pylist()) == Counter(str(i).encode() for i in range(rows))


@pytest.mark.parametrize("way", WAYS)
def test_adaptive_execution_neither_joins_nor_cuts_tasks(
    spark: SparkSession,
    settings: Callable[..., Any],
    way: Callable[..., Any],
) -> None:
    table = spark.range(0, 3000, 1, 3).select(
        "id",
        F.when(F.col("id") < 2900, 0).otherwise(F.col("id") % 9).alias("task"),
    )
    eager = {
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": "1k",
        "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "1",
        "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
    }
    with settings(eager):
        came = brought(way, table, 9)
    assert came["partition"].to_pylist() == came["task"].to_pylist()
    assert came.num_rows == 3000


@pytest.mark.parametrize("way", WAYS)
def test_a_number_that_is_no_task_counts_modulo_the_tasks(
    spark: SparkSession,
    way: Callable[..., Any],
) -> None:
    table = spark.createDataFrame([(i, i) for i in (-1, -9, 4, 11)], "id int, task int")
    came = brought(way, table, 4)
    assert dict(zip(came["task"].to_pylist(), came["partition"].to_pylist(), strict=True)) == {
        -1: 3,
        -9: 3,
        4: 0,
        11: 3,
    }


def test_a_partition_of_several_tasks_is_refused() -> None:
    assert the_task(pa.array([3, 3, 3])) == 3
    with pytest.raises(MixedTasksError):
        the_task(pa.array([3, 3, 4]))


def test_what_mixed_tasks_mean_is_said(spark: SparkSession) -> None:
    def take_one(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        whole = pa.Table.from_batches(list(batches))
        yield pa.RecordBatch.from_arrays([pa.array([the_task(whole["id"])])], names=["id"])

    assert spark.range(5, 6, 1, 1).mapInArrow(take_one, "id bigint").collect()[0].id == 5
    with pytest.raises(PythonException) as raised:
        spark.range(0, 9, 1, 1).mapInArrow(take_one, "id bigint").collect()
    told = known(raised.value)
    assert isinstance(told, ConfigurationError)
    assert "does not send rows to the tasks that they are meant for" in str(told)
