"""The cluster behind a session: its abilities, Python functions in its workers, and its shuffles.

Platforms that share a cluster, and Spark Connect, give no JVM and few settings; Spark 4.0 lacks
some functions of 4.1. The number of tasks of a shuffle follows from the known number of rows rather
than from a session's default (200 under spark-submit). Where Spark does not choose the task of each
row, a column gives it.
"""

from __future__ import annotations

import gc
import sys
import zipimport
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.types import StructType

from tclose_spark.io.tables.columns import quoted
from tclose_spark.table.arrays import Mapper

REFUSALS = (PySparkException, Py4JError, AttributeError)
"""What is raised for what a session does not have: by Spark Connect, by a cluster's allow list, by
Python.
"""

SENDS_TO_TASKS = hasattr(DataFrame, "repartitionById")
"""Whether rows can be sent to a partition by its number (Spark 4.1); else see `shuffles.by_key`."""


class Java(NamedTuple):
    """The driver's JVM, and its Hadoop configuration."""

    jvm: Any
    hadoop: Any


def java_of(spark: SparkSession) -> Java | None:
    """The JVM behind a session; None without access (Spark Connect, Databricks' shared and
    serverless compute).
    """
    try:
        context = spark.sparkContext
        return Java(context._jvm, context._jsc.hadoopConfiguration())
    except REFUSALS:
        return None


def setting(spark: SparkSession, key: str) -> str | None:
    """A setting's value; None if it is not set or not readable."""
    try:
        value = spark.conf.get(key, None)
    except REFUSALS:
        return None
    return None if value is None else str(value)


def settings_below(spark: SparkSession, prefix: str) -> dict[str, str]:
    """The settings whose keys begin with this; none if they are not readable."""
    try:
        return {key: value for key, value in spark.conf.getAll.items() if key.startswith(prefix)}
    except REFUSALS:
        return {}


def set_if_allowed(spark: SparkSession, key: str, value: str | None) -> bool:
    """Sets a session's setting (None: unsets it); False, without a change, if the platform does not
    allow it.
    """
    try:
        if value is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, value)
    except REFUSALS:
        return False
    return True


PLAIN = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}


def map_batches(table: DataFrame, mapper: Mapper, schema: StructType | str) -> DataFrame:
    """`DataFrame.mapInArrow` for columns of any name, without its cost for each task: see
    `forget_zip_importers` and `freeze_modules`.
    """
    names = table.columns

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        forget_zip_importers()
        yield from mapper(_plain(batch.rename_columns(names)) for batch in batches)
        forget_zip_importers()
        freeze_modules()

    # Spark takes a dot or a backtick in a name for syntax.
    numbered = (
        table.toDF(*map(str, range(len(names)))) if set("".join(names)) & set(".`") else table
    )
    return numbered.mapInArrow(run, schema)


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch with plain types in place of large ones, which some platforms hand over."""
    kinds = [PLAIN.get(field.type, field.type) for field in batch.schema]
    if kinds == batch.schema.types:
        return batch
    return batch.cast(pa.schema(list(zip(batch.schema.names, kinds, strict=True))))


def forget_zip_importers() -> None:
    """Drops the importers of zip files and jars, which are made again from a cache if an import
    needs them.

    Before every task, a worker makes all importers read their files again, including Spark's own
    jar and
    pyspark.zip: 0.11 CPU seconds a task, 0.01 without (on one core of 2026).
    """
    for path, importer in list(sys.path_importer_cache.items()):
        if isinstance(importer, zipimport.zipimporter):
            del sys.path_importer_cache[path]


_frozen = 0  # modules of this process whose objects are frozen


def freeze_modules() -> None:
    """Exempts the objects of all loaded modules from garbage collection, if modules were loaded
    since the last call.

    After every task a worker collects garbage. Walking through the objects of NumPy, pandas and
    numba took 0.06 CPU seconds a task, most of what a task with few rows costs.
    """
    global _frozen
    if len(sys.modules) != _frozen:
        _frozen = len(sys.modules)
        gc.collect()
        gc.freeze()


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
                [*batch.columns, key],
                names=[*batch.schema.names, KEY],
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
