"""The number of tasks of a shuffle, from the known number of rows rather than a session's default
(200 under spark-submit); and the task of each row, if Spark does not choose it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tclose_spark.io.spark.capabilities import SENDS_TO_TASKS, set_if_allowed, setting
from tclose_spark.io.spark.workers import map_batches
from tclose_spark.io.tables.columns import quoted
from tclose_spark.table.arrays import Mapper

ROWS_A_TASK = 100_000
PARTITIONS = "spark.sql.shuffle.partitions"
KEY = "sent_by"
CANDIDATES = 16
"""Keys tried for each task: one task in 10^7 has none among them, and then twice as many are
tried.
"""


@contextmanager
def sized_shuffles(spark: SparkSession, rows: int) -> Iterator[None]:
    """Inside the body, a shuffle that Spark sizes by its setting has one task per ROWS_A_TASK rows,
    on a laptop as on a cluster of a thousand cores. `sent_to_tasks` has the number of tasks of a
    plan instead (`Plan.tasks`).

    Adaptive execution may join tasks if a shuffle moves less than the rows. The session's own
    number is restored at the end. A platform that does not allow the setting keeps its own.
    """
    before = setting(spark, PARTITIONS)
    set_if_allowed(spark, PARTITIONS, str(max(1, -(-rows // ROWS_A_TASK))))
    try:
        yield
    finally:
        set_if_allowed(spark, PARTITIONS, before)


def sent_to_tasks(table: DataFrame, mapper: Mapper, schema: T.StructType, tasks: int) -> DataFrame:
    """Applies a mapper to a table in partitions: each row goes to the partition whose number, below
    `tasks`, is its first column, an int. Other numbers count modulo `tasks`. Adaptive execution
    neither joins nor splits the partitions.
    """
    return (by_number if SENDS_TO_TASKS else by_key)(table, mapper, schema, tasks)


def by_number(table: DataFrame, mapper: Mapper, schema: T.StructType, tasks: int) -> DataFrame:
    """`sent_to_tasks` as Spark 4.1 does it."""
    return map_batches(table, mapper, schema).repartitionById(tasks, quoted(schema.names[0]))


def by_key(table: DataFrame, mapper: Mapper, schema: T.StructType, tasks: int) -> DataFrame:
    """`sent_to_tasks` on Spark 4.0, which partitions by a hash only: by the hash of a key that
    selects the task.
    """
    keys = keys_of_tasks(table.sparkSession, tasks)

    def keyed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in mapper(batches):
            key = pa.array(keys[batch.column(0).to_numpy() % tasks])
            yield pa.RecordBatch.from_arrays(
                [*batch.columns, key], names=[*batch.schema.names, KEY]
            )

    with_key = T.StructType([*schema.fields, T.StructField(KEY, T.IntegerType())])
    return map_batches(table, keyed, with_key).repartition(tasks, F.col(KEY)).drop(KEY)


def keys_of_tasks(spark: SparkSession, tasks: int) -> npt.NDArray[np.int32]:
    """For each task the least non-negative int that Spark's hash partitioning sends there."""
    tried = CANDIDATES * tasks
    while True:
        task = F.pmod(F.hash(F.col("id").cast("int")), F.lit(tasks)).alias("task")
        sent = spark.range(0, tried, 1, 1).select(task).toArrow()["task"].to_numpy()
        found, keys = np.unique(sent, return_index=True)
        if len(found) == tasks:
            return keys.astype(np.int32)
        tried *= 2
