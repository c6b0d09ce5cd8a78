"""Prefetches what a walk along an order will read soon.

Rows that are neighbours in an order lie far apart in memory, and so do their classes.
"""

from __future__ import annotations

from tclose_spark.kernels import kernel
from tclose_spark.kernels.prefetching import prefetch
from tclose_spark.methods.closeness_tree.exchange.partition import Partition, Table
from tclose_spark.table.arrays import Codes

# Places in the order. A row is fetched first, because its class is read from it. Most neighbours
# that a walk tries are fewer than CLASS_AHEAD places away, so their classes are fetched by then.
ROW_AHEAD = 64
CLASS_AHEAD = 44


@kernel
def prefetch_boxes(table: Table, partition: Partition, order: Codes, at: int) -> None:
    """Fetch the row that the walk reaches ROW_AHEAD places after `at`, and the box of the class
    that it reaches CLASS_AHEAD places after. order: shape (n,).
    """
    if at + ROW_AHEAD >= len(order):
        return
    row = order[at + ROW_AHEAD]
    prefetch(partition.of, row)
    prefetch(table.cell, row)
    prefetch(table.packed, row)
    c = partition.of[order[at + CLASS_AHEAD]]
    prefetch(partition.packed_low, c)
    prefetch(partition.packed_high, c)


@kernel
def prefetch_figures(partition: Partition, order: Codes, at: int) -> None:
    """Fetch the figures by which a walk decides whether a row may leave or join the class that it
    reaches CLASS_AHEAD places after `at`. order: shape (n,).
    """
    if at + CLASS_AHEAD >= len(order):
        return
    c = partition.of[order[at + CLASS_AHEAD]]
    prefetch(partition.size, c)
    prefetch(partition.room, c)
    prefetch(partition.width, c)
    prefetch(partition.counts, c)
    prefetch(partition.present, c)
    prefetch(partition.total, c)
