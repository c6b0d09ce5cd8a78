"""The number of tasks of a shuffle, from the known number of rows rather than a session's default (200 under
spark-submit); and the task of each row, if Spark does not choose it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tclose_spark.io.spark.capabilities import SENDS_TO_TASKS, set_if_allowed, setting
from tclose_spark.io.spark.workers import Mapper, map_batches

ROWS_A_TASK = 100_000
MOST_JOINING = 64  # tasks that join what others found, before the driver does
PARTITIONS = "spark.sql.shuffle.partitions"
KEY = "sent_by"

# Of Spark's hash of an int, which is Murmur3 in 32 bits: what it multiplies and adds, each undone modulo 2^32.
SEED, LENGTH, ADDED = 42, 4, 0xE6546B64
C1, C2, FIVE, MIX1, MIX2 = (pow(factor, -1, 1 << 32) for factor in (0xCC9E2D51, 0x1B873593, 5, 0x85EBCA6B, 0xC2B2AE35))


class MixedTasksError(Exception):
    """A partition has rows of several tasks, so this Spark partitions differently."""


@contextmanager
def sized_shuffles(spark: SparkSession, rows: int) -> Iterator[None]:
    """Inside the body, every shuffle has one task per ROWS_A_TASK rows, on a laptop as on a cluster of a thousand
    cores.

    Adaptive execution may join tasks if a shuffle moves less than the rows. The session's own number is restored at
    the end. A platform that does not allow the setting keeps its own.
    """
    before = setting(spark, PARTITIONS)
    set_if_allowed(spark, PARTITIONS, str(max(1, -(-rows // ROWS_A_TASK))))
    try:
        yield
    finally:
        set_if_allowed(spark, PARTITIONS, before)


def joining_tasks(values: int, a_task: int) -> int:
    """The number of tasks that join values found by other tasks, `a_task` each, before the driver receives them. Few,
    because a task that joins little costs more than it saves

    >>> joining_tasks(1, 100), joining_tasks(250, 100), joining_tasks(10**9, 100)
    (1, 3, 64)
    """
    return min(MOST_JOINING, max(1, -(-values // a_task)))


def sent_to_tasks(table: DataFrame, mapper: Mapper, schema: str, tasks: int) -> DataFrame:
    """Applies a mapper to a table in partitions: each row goes to the partition whose number, below `tasks`, is its
    first column, an int. Other numbers count modulo `tasks`. Adaptive execution neither joins nor splits the
    partitions.
    """
    return (by_number if SENDS_TO_TASKS else by_key)(table, mapper, schema, tasks)


def by_number(table: DataFrame, mapper: Mapper, schema: str, tasks: int) -> DataFrame:
    """`sent_to_tasks` as Spark 4.1 does it."""
    return map_batches(table, mapper, schema).repartitionById(tasks, F.col(schema.split()[0]))


def by_key(table: DataFrame, mapper: Mapper, schema: str, tasks: int) -> DataFrame:
    """`sent_to_tasks` for Spark 4.0, which partitions by a hash only: by that of a key whose hash is the number."""

    def keyed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in mapper(batches):
            keys = pa.array(keys_of(batch.column(0).to_numpy()))
            names = [*batch.schema.names, KEY]
            yield pa.RecordBatch.from_arrays([*batch.columns, keys], names=names)

    return map_batches(table, keyed, f"{schema}, {KEY} int").repartition(tasks, F.col(KEY)).drop(KEY)


def keys_of(numbers: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """The ints whose hash by Spark (`functions.hash`, and what its partitions are numbered by) is each number.

    Every step of that hash can be undone: hashInt and fmix of org.apache.spark.unsafe.hash.Murmur3_x86_32, backwards.

    >>> keys_of(np.array([0, 1, 2], dtype=np.int32)).tolist()
    [-1693959553, -1910889132, -1382833682]
    """
    h = np.asarray(numbers, dtype=np.int32).view(np.uint32)
    h = (h ^ h >> np.uint32(16)) * np.uint32(MIX2)
    h = (h ^ h >> np.uint32(13) ^ h >> np.uint32(26)) * np.uint32(MIX1)
    h = h ^ h >> np.uint32(16) ^ np.uint32(LENGTH)
    h = _turned_back((h - np.uint32(ADDED)) * np.uint32(FIVE), 13) ^ np.uint32(SEED)
    return (_turned_back(h * np.uint32(C2), 15) * np.uint32(C1)).view(np.int32)


def _turned_back(bits: npt.NDArray[np.uint32], places: int) -> npt.NDArray[np.uint32]:
    """32 bits rotated to the right."""
    return bits >> np.uint32(places) | bits << np.uint32(32 - places)


def the_task(numbers: pa.Array | pa.ChunkedArray) -> int:
    """The one number of all rows of a partition of `sent_to_tasks`.

    Raises:
        MixedTasksError: if they have several.
    """
    (number, *others) = numbers.unique().to_pylist()
    if others:
        raise MixedTasksError
    return int(number)
