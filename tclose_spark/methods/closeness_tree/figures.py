"""What the classes of a block are worth, counted anew from the rows: for the run's record and for tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.kernels.widths import width
from tclose_spark.methods.closeness_tree.block import Block
from tclose_spark.methods.closeness_tree.loads import Asked, add_cell, asked_of, load
from tclose_spark.table.arrays import FloatArray, IntArray


def rows_lost(block: Block, classes: IntArray) -> float:
    """The information loss of the classes in rows: the sum over rows of the mean width of their labels; NCP is this by
    rows.

    classes: shape (n,), of each row.
    """
    w = block.widths
    order, starts = by_class(classes)
    return float(
        _lost(block.quasi, order, starts, w.kinds, w.missing, w.place, w.nodes, w.shares) / block.quasi.shape[1]
    )


def loads(block: Block, classes: IntArray) -> FloatArray:
    """The load of each class (1 is just allowed), in the order of their numbers."""
    order, starts = by_class(classes)
    asked, found = asked_of(block.requirement), np.zeros(len(starts) - 1)
    _loads(block.cell, order, starts, asked, np.zeros(asked.tables.shape, dtype=np.int64), found)
    return found


def by_class(classes: IntArray) -> tuple[IntArray, IntArray]:
    """(the rows, class by class; where each class begins and, last, the number of rows)."""
    order = np.argsort(classes, kind="stable")
    starts = np.flatnonzero(np.diff(classes[order], prepend=-1))
    return order, np.append(starts, len(classes))


@kernel
def _lost(quasi: Any, order: Any, starts: Any, kinds: Any, missing: Any, place: Any, nodes: Any, shares: Any) -> float:
    total = 0.0
    for c in range(len(starts) - 1):
        for j in range(quasi.shape[1]):
            lo = hi = quasi[order[starts[c]], j]
            for at in range(starts[c] + 1, starts[c + 1]):
                code = quasi[order[at], j]
                lo, hi = min(lo, code), max(hi, code)
            total += (starts[c + 1] - starts[c]) * width(j, lo, hi, kinds, missing, place, nodes, shares)
    return total


@kernel
def _loads(cell: Any, order: Any, starts: Any, asked: Asked, counts: Any, found: Any) -> None:
    for c in range(len(found)):
        counts[:] = 0
        for at in range(starts[c], starts[c + 1]):
            add_cell(counts, cell[order[at]], 1, asked.codes)
        found[c] = load(counts, starts[c + 1] - starts[c], asked)
