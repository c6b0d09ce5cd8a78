"""Figures of the classes of a block, counted from the rows, for the run's record and for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.kernels.widths import LabelWidths, width
from tclose_spark.methods.blocks.block import Block, Requirement
from tclose_spark.methods.blocks.holding import add_cell, closeness_ratio, work_space
from tclose_spark.methods.blocks.layout import Totals
from tclose_spark.table.arrays import Codes, FloatArray, IntArray, in_order

TOTALS: Totals = {
    "rows": "sum",
    "lost": "sum",
    "closeness_ratio": "sum",
    "largest_closeness_ratio": "max",
}
"""The figures of `figures_of_block`. closeness_ratio is summed over rows."""


def figures_of_block(block: Block, classes: IntArray, ratios: FloatArray) -> dict[str, float]:
    """The figures of a block for the run's record. ratios: the closeness ratio of each class."""
    return {
        "rows": len(classes),
        "lost": rows_lost(block, classes),
        "closeness_ratio": float(ratios @ np.bincount(classes)),
        "largest_closeness_ratio": float(ratios.max()),
    }


def describe_figures(figures: Mapping[str, float]) -> dict[str, Any]:
    """The figures of all blocks as the run's record has them."""
    return {
        "ncp": round(figures["lost"] / figures["rows"], 6),
        "mean_closeness_ratio": round(figures["closeness_ratio"] / figures["rows"], 6),
        "largest_closeness_ratio": round(figures["largest_closeness_ratio"], 6),
    }


def rows_lost(block: Block, classes: IntArray) -> float:
    """The information loss of the classes in rows: the sum over rows of the mean width of their
    labels. Divided by the number of rows it is the NCP. classes: of each row, shape (n,).
    """
    order, starts = by_class(classes)
    return float(_width_sum(block.quasi, order, starts, block.widths) / block.quasi.shape[1])


def closeness_ratios(block: Block, classes: IntArray) -> FloatArray:
    """The closeness ratio of each class, in the order of the classes' numbers."""
    order, starts = by_class(classes)
    counts = np.zeros(block.requirement.tables.shape, dtype=np.int64)
    ratios = np.zeros(len(starts) - 1)
    _measure_classes(
        block.cell[order],
        starts,
        block.requirement,
        counts,
        work_space(block.requirement),
        ratios,
    )
    return ratios


def by_class(classes: IntArray) -> tuple[IntArray, IntArray]:
    """(the rows, class by class; the place where each class begins and, last, the number of
    rows).
    """
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
                lo = min(lo, code)
                hi = max(hi, code)
            total += (starts[c + 1] - starts[c]) * width(j, lo, hi, widths)
    return total


@kernel
def _measure_classes(
    cell: Codes,
    starts: IntArray,
    requirement: Requirement,
    counts: IntArray,
    excess: IntArray,
    ratios: FloatArray,
) -> None:
    for c in range(len(ratios)):
        counts[:] = 0
        for at in range(starts[c], starts[c + 1]):
            add_cell(counts, cell[at], 1, requirement)
        ratios[c] = closeness_ratio(counts, starts[c + 1] - starts[c], requirement, excess)
