"""The rows without a class, and MDAV's seeds among them (Domingo-Ferrer and Torra 2005).

The distance of two rows is the mean width of the labels that would cover both. For a number it is
the difference, as a share of the range; with a hierarchy, the share of values below the lowest
common node; without one, 0 or 1. Rows are therefore near if publishing them together loses little.
The papers use normalised Euclidean distances of numbers only.

The average row has the mean of each number and the most frequent value of each category. Among
equal rows the first one counts, in the order of the block, which follows from content.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.kernels.structures import structure
from tclose_spark.kernels.widths import NUMBER, LabelWidths, width
from tclose_spark.methods.blocks.block import Block
from tclose_spark.table.arrays import Codes, FloatArray, IntArray


@structure
class UnassignedRows(NamedTuple):
    """Rows without a class: the first `left` ones of `rows`, in order.

    rows: shape (n,).
    far: the distance of each of `rows` from the seed, in sums of widths, shape (n,).
    counts: the remaining rows with each code, shape (q, longest domain).
    reach: the width of the label from a seed's code to each code, shape (q, longest domain).
    class_of: the class of each row, or -1, shape (n,).
    """

    rows: IntArray
    far: FloatArray
    counts: IntArray
    reach: FloatArray
    class_of: IntArray


def all_unassigned(block: Block) -> UnassignedRows:
    """All rows of a block, without a class."""
    n, q = block.quasi.shape
    longest = block.widths.place.shape[1]
    counts = [np.bincount(column, minlength=longest) for column in block.quasi.T]
    return UnassignedRows(
        rows=np.arange(n, dtype=np.int64),
        far=np.zeros(n),
        counts=np.array(counts),
        reach=np.zeros((q, longest)),
        class_of=np.full(n, -1, dtype=np.int64),
    )


@kernel
def remove_classed(pool: UnassignedRows, left: int, quasi: Codes) -> int:
    """Removes rows that have a class by now; returns the number of remaining rows."""
    kept = 0
    for i in range(left):
        row = pool.rows[i]
        if pool.class_of[row] < 0:
            pool.rows[kept], pool.far[kept] = row, pool.far[i]
            kept += 1
        else:
            for j in range(quasi.shape[1]):
                pool.counts[j, quasi[row, j]] -= 1
    return kept


@kernel
def farthest(pool: UnassignedRows, left: int) -> int:
    """The first of the remaining rows that are farthest from the last seed (see `measure_from`)."""
    best = 0
    for i in range(1, left):
        if pool.far[i] > pool.far[best]:
            best = i
    return int(pool.rows[best])


@kernel
def measure_from(
    seed: int, pool: UnassignedRows, left: int, quasi: Codes, widths: LabelWidths
) -> None:
    """Fills `far` for a row."""
    for j in range(quasi.shape[1]):
        code = quasi[seed, j]
        for other in range(widths.domains[j]):
            pool.reach[j, other] = width(j, min(code, other), max(code, other), widths)
    _add_up(pool, left, quasi)


@kernel
def measure_from_average(
    pool: UnassignedRows, left: int, quasi: Codes, widths: LabelWidths
) -> None:
    """Fills `far` for the average of the remaining rows. A missing number is at distance 1."""
    for j in range(quasi.shape[1]):
        if widths.kinds[j] == NUMBER:
            _reach_mean(j, pool, widths)
        else:
            most = 0
            for code in range(widths.domains[j]):
                if pool.counts[j, code] > pool.counts[j, most]:
                    most = code
            for code in range(widths.domains[j]):
                pool.reach[j, code] = width(j, min(code, most), max(code, most), widths)
    _add_up(pool, left, quasi)


@kernel
def _reach_mean(j: int, pool: UnassignedRows, widths: LabelWidths) -> None:
    """Fills `reach` of a number for its mean."""
    first = 1 if widths.missing[j] else 0
    total = 0.0
    rows = 0
    for code in range(first, widths.domains[j]):
        total += pool.counts[j, code] * widths.place[j, code]
        rows += pool.counts[j, code]
    mean = total / max(rows, 1)
    pool.reach[j, 0] = 1.0
    for code in range(first, widths.domains[j]):
        pool.reach[j, code] = abs(widths.place[j, code] - mean)


@kernel
def _add_up(pool: UnassignedRows, left: int, quasi: Codes) -> None:
    """Fills `far` from `reach`."""
    for i in range(left):
        row = pool.rows[i]
        total = 0.0
        for j in range(quasi.shape[1]):
            total += pool.reach[j, quasi[row, j]]
        pool.far[i] = total
