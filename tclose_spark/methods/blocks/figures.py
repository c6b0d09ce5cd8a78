"""What the classes of a block are worth, counted anew from the rows: for the run's record and for tests."""

from __future__ import annotations

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.kernels.widths import LabelWidths, width
from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.holding import add_cell, closeness_ratio, work_space
from tclose_spark.methods.blocks.requirement import Requirement
from tclose_spark.table.arrays import Codes, FloatArray, IntArray, in_order


def rows_lost(block: Block, classes: IntArray) -> float:
    """The information loss of the classes in rows: the sum over rows of the mean width of their labels; NCP is this by
    rows.

    classes: shape (n,), of each row.
    """
    order, starts = by_class(classes)
    return float(_width_sum(block.quasi, order, starts, block.widths) / block.quasi.shape[1])


def closeness_ratios(block: Block, classes: IntArray) -> FloatArray:
    """EMD / t of each class, the largest of its attributes' (1 is just allowed), in the order of the numbers."""
    order, starts = by_class(classes)
    counts = np.zeros(block.requirement.tables.shape, dtype=np.int64)
    ratios = np.zeros(len(starts) - 1)
    _measure_classes(block.cell[order], starts, block.requirement, counts, work_space(block.requirement), ratios)
    return ratios


def by_class(classes: IntArray) -> tuple[IntArray, IntArray]:
    """(the rows, class by class; where each class begins and, last, the number of rows)."""
    order = in_order(classes)
    starts = np.flatnonzero(np.diff(classes[order], prepend=-1))
    return order, np.append(starts, len(classes))


@kernel
def _width_sum(quasi: Codes, order: IntArray, starts: IntArray, widths: LabelWidths) -> float:
    total = 0.0
    for c in range(len(starts) - 1):
        for j in range(quasi.shape[1]):
            lo = hi = quasi[order[starts[c]], j]
            for at in range(starts[c] + 1, starts[c + 1]):
                code = quasi[order[at], j]
                lo, hi = min(lo, code), max(hi, code)
            total += (starts[c + 1] - starts[c]) * width(j, lo, hi, widths)
    return total


@kernel
def _measure_classes(
    cell: Codes, starts: IntArray, requirement: Requirement, counts: IntArray, excess: IntArray, ratios: FloatArray
) -> None:
    for c in range(len(ratios)):
        counts[:] = 0
        for at in range(starts[c], starts[c + 1]):
            add_cell(counts, cell[at], 1, requirement.codes)
        ratios[c] = closeness_ratio(counts, starts[c + 1] - starts[c], requirement, excess)
