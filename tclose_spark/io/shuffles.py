"""How many tasks a shuffle has: from the rows that are known by then, never from a session's default (200 under
spark-submit).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tclose_spark.io.capabilities import set_if_allowed, setting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS_A_TASK = 100_000
MOST_JOINING = 64  # tasks that join what others found, before the driver does
PARTITIONS = "spark.sql.shuffle.partitions"


@contextmanager
def sized_shuffles(spark: SparkSession, rows: int) -> Iterator[None]:
    """Inside it every shuffle has a task for each ROWS_A_TASK rows, the same on a laptop and on a cluster of a thousand
    cores.

    Adaptive execution may join tasks where a shuffle moves less than the rows. The session's own number is put back at
    the end; a platform that keeps the setting to itself decides.
    """
    before = setting(spark, PARTITIONS)
    set_if_allowed(spark, PARTITIONS, str(max(1, -(-rows // ROWS_A_TASK))))
    try:
        yield
    finally:
        set_if_allowed(spark, PARTITIONS, before)


def joining_tasks(values: int, a_task: int) -> int:
    """How many tasks join at most so many values that other tasks found, `a_task` each, before they come to the driver.
    Few: a task that joins little costs more than it joins.

    >>> joining_tasks(1, 100), joining_tasks(250, 100), joining_tasks(10**9, 100)
    (1, 3, 64)
    """
    return min(MOST_JOINING, max(1, -(-values // a_task)))
