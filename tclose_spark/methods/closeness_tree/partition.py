"""What the exchange works on: rows that never change, and classes of rows with all that is known of them, kept up to
date.

Both are tuples of plain arrays, which numba passes without copying.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose_spark.kernels import kernel
from tclose_spark.kernels.mixing import GOLDEN, mixed
from tclose_spark.methods.closeness_tree.block import Block
from tclose_spark.table.arrays import Codes, FloatArray, IntArray

EQUAL, ORDERED, HIERARCHICAL = 0, 1, 2
LEAVE, JOIN = 0, 1


class Table(NamedTuple):
    """The rows, how wide labels are and what classes must hold (see `block`), with the values of all sensitive
    attributes in one row.

    quasi: (n, q); cell: (n,); kinds .. shares as in Widths. first: (attributes + 1,): attribute s has the columns
    first[s]..first[s + 1]-1.
    column: (cells, attributes), the column of each attribute's value in each cell. metric: (attributes,), EQUAL,
    ORDERED or HIERARCHICAL.
    expected: (columns,), records of the whole table with the value; of an ordered attribute, with this value or a lower
    one. parents, heights, distinct, limits, k as in Requirement. n: rows of the whole table.
    """

    quasi: Codes
    cell: Codes
    kinds: NDArray[np.int8]
    missing: NDArray[np.bool_]
    place: FloatArray
    nodes: Codes
    shares: FloatArray
    first: IntArray
    column: Codes
    metric: NDArray[np.int8]
    expected: IntArray
    parents: Codes
    heights: IntArray
    distinct: IntArray
    limits: IntArray
    n: int
    k: int


class Partition(NamedTuple):
    """Rows in classes. Invariant between changes: every array is what a recount from `of` would give.

    of: (n,), each row's class. Members of class c: member[start[c]:start[c] + size[c]], with place[row] the row's
    position from start[c]; room[c] positions are reserved.
    For each class and quasi-identifier, (classes, q): low and high code, how many members have it, and the next code
    inwards (-2: not known; see `boxes`); wide: the width, and width: (classes,) its sum over quasi-identifiers.
    extra: (classes, columns), n c_v - s N_v of each value, cumulative for an ordered attribute. counts: (classes,
    columns), c_v.
    total, present: (classes, attributes), the distance's numerator and the number of distinct values.
    allowed: (2, classes, columns), whether a row with this value may leave or join; right only where fresh: (2,
    classes).
    nodes: (2, highest + 1, largest domain), old, old_start, as member, start, rank, tail: (n,): work space. random:
    (1,), the generator's state.
    """

    of: Codes
    place: Codes
    start: IntArray
    room: IntArray
    size: IntArray
    member: Codes
    low: Codes
    high: Codes
    low_rows: Codes
    high_rows: Codes
    low_next: Codes
    high_next: Codes
    wide: FloatArray
    width: FloatArray
    extra: IntArray
    counts: Codes
    total: IntArray
    present: IntArray
    allowed: NDArray[np.uint8]
    fresh: NDArray[np.bool_]
    nodes: IntArray
    old: Codes
    old_start: IntArray
    rank: Codes
    tail: FloatArray
    random: NDArray[np.uint64]


def make_table(block: Block) -> Table:
    """The block as the kernels read it."""
    need, widths = block.requirement, block.widths
    first = np.concatenate([[0], np.cumsum(need.domains)]).astype(np.int64)
    metric = np.where(need.heights > 0, HIERARCHICAL, np.where(need.ordered, ORDERED, EQUAL)).astype(np.int8)
    expected = [
        np.cumsum(counts[:m]) if kind == ORDERED else counts[:m]
        for counts, m, kind in zip(need.tables, need.domains, metric, strict=True)
    ]
    return Table(
        np.ascontiguousarray(block.quasi, np.int32),
        np.ascontiguousarray(block.cell, np.int32),
        np.ascontiguousarray(widths.kinds, np.int8),
        np.ascontiguousarray(widths.missing, np.bool_),
        np.ascontiguousarray(widths.place, np.float64),
        np.ascontiguousarray(widths.nodes, np.int32),
        np.ascontiguousarray(widths.shares, np.float64),
        first,
        (need.codes + first[:-1]).astype(np.int32),
        metric,
        np.concatenate(expected).astype(np.int64),
        np.ascontiguousarray(need.parents, np.int32),
        need.heights.astype(np.int64),
        need.distinct.astype(np.int64),
        need.limits.astype(np.int64),
        int(need.rows),
        int(need.k),
    )


def make_partition(table: Table, classes: IntArray, seed: int, spare: int = 0) -> Partition:
    """The classes with members in row order; figures are still to be counted (`changes.count_all`).

    classes: (n,), 0.. . spare: so many more classes, without rows.
    """
    rows, quasis = table.quasi.shape
    groups, columns, attributes = int(classes.max()) + 1 + spare, len(table.expected), len(table.distinct)

    return Partition(
        classes.astype(np.int32),
        np.zeros(rows, np.int32),
        np.zeros(groups, np.int64),
        np.zeros(groups, np.int64),
        np.bincount(classes, minlength=groups).astype(np.int64),
        np.zeros(2 * rows + 8 * groups, np.int32),
        np.zeros((groups, quasis), np.int32),
        np.zeros((groups, quasis), np.int32),
        np.zeros((groups, quasis), np.int32),
        np.zeros((groups, quasis), np.int32),
        np.zeros((groups, quasis), np.int32),
        np.zeros((groups, quasis), np.int32),
        np.zeros((groups, quasis)),
        np.zeros(groups),
        np.zeros((groups, columns), np.int64),
        np.zeros((groups, columns), np.int32),
        np.zeros((groups, attributes), np.int64),
        np.zeros((groups, attributes), np.int64),
        np.zeros((2, groups, columns), np.uint8),
        np.zeros((2, groups), np.bool_),
        np.zeros((2, table.parents.shape[1] + 1, table.parents.shape[2]), np.int64),
        np.zeros(2 * rows + 8 * groups, np.int32),
        np.zeros(groups, np.int64),
        np.zeros(rows, np.int32),
        np.zeros(rows),
        np.array([seed], np.uint64),
    )


@kernel
def draw(random: NDArray[np.uint64]) -> Any:
    """The next of a sequence of 64-bit integers (splitmix64), as a nonnegative int64."""
    random[0] += np.uint64(GOLDEN)
    return np.int64(mixed(random[0]) >> np.uint64(1))
