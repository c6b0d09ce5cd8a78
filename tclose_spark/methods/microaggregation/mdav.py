"""MDAV, the basis of Algorithm 1 (Domingo-Ferrer and Torra 2005; Weber, 2.3.3).

The row farthest from the average of the remaining rows forms a class with its k - 1 nearest rows. Then the row farthest
from that one does the same. This repeats while 2 k rows are left. The rest is a class.
"""

from __future__ import annotations

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.kernels.widths import LabelWidths
from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.dealing.nearest import keep_near
from tclose_spark.methods.microaggregation.pool import (
    Pool,
    farthest,
    fill_pool,
    measure_from,
    measure_from_average,
    remove_classed,
)
from tclose_spark.table.arrays import Codes, FloatArray, IntArray


def microaggregate(block: Block) -> IntArray:
    """The class of each row of a block, from 0, shape (n,): of k rows each, the last one of up to 2 k - 1."""
    pool, k = fill_pool(block), block.requirement.k
    _microaggregate(pool, block.quasi, block.widths, k, np.zeros(k), np.zeros(k, dtype=np.int64))
    return pool.class_of


@kernel
def _microaggregate(pool: Pool, quasi: Codes, widths: LabelWidths, k: int, near: FloatArray, chosen: IntArray) -> None:
    """Fills `class_of`. near, chosen: room for the nearest rows, shape (k,)."""
    left, number, opposite = len(pool.rows), 0, False
    while left >= 2 * k:
        if not opposite:
            measure_from_average(pool, left, quasi, widths)
        measure_from(farthest(pool, left), pool, left, quasi, widths)
        choose_nearest(pool, left, k, near, chosen)
        for place in range(k):
            pool.class_of[chosen[place]] = number
        left = remove_classed(pool, left, quasi)
        number, opposite = number + 1, not opposite
    for i in range(left):
        pool.class_of[pool.rows[i]] = number


@kernel
def choose_nearest(pool: Pool, left: int, many: int, near: FloatArray, chosen: IntArray) -> None:
    """Fills `chosen` with the nearest remaining rows, nearest first, and `near` with their distances."""
    held = 0
    for i in range(left):
        held = keep_near(pool.far[i], pool.rows[i], held, many, near, chosen)
