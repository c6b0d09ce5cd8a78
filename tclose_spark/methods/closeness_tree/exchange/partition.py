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
from tclose_spark.kernels.structures import structure
from tclose_spark.kernels.widths import LabelWidths
from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.requirement import ANYTHING, ORDERED, Requirement, metrics_of
from tclose_spark.table.arrays import Codes, FloatArray, IntArray

LEAVE, JOIN = 0, 1


@structure
class Table(NamedTuple):
    """The rows and what classes of them must hold, with the values of all sensitive attributes in one row of
    columns.
    """

    quasi: Codes  # dense codes of the quasi-identifiers, shape (n, q)
    cell: Codes  # each row's tuple of sensitive values, shape (n,)
    widths: LabelWidths  # of the labels that cover these codes
    requirement: Requirement  # what every class must hold
    first: IntArray  # attribute s has the columns first[s]..first[s + 1]-1, shape (attributes + 1,)
    column: Codes  # the column of each attribute's value in each cell, shape (cells, attributes)
    metric: NDArray[np.int8]  # EQUAL, ORDERED or HIERARCHICAL, shape (attributes,)
    # records of the whole table with the value; of an ordered attribute, with this value or a lower one; shape
    # (columns,)
    expected: IntArray
    # what each unit of a numerator is of the closeness ratio of a class times its rows, 0 without a t; shape
    # (attributes,)
    share: FloatArray


@structure
class Partition(NamedTuple):
    """Rows in classes. Invariant between changes: every array is what a recount from `of` would give."""

    of: Codes  # each row's class, shape (n,)
    place: Codes  # each row's position among the members of its class, from start[c], shape (n,)
    start: IntArray  # members of class c are member[start[c]:start[c] + size[c]], shape (classes,)
    room: IntArray  # how many positions are reserved for them, shape (classes,)
    size: IntArray  # how many there are, shape (classes,)
    member: Codes  # rows, class by class, with room between, shape (2 n + 8 classes,)
    low: Codes  # the lowest code of each class in each quasi-identifier, shape (classes, q)
    high: Codes  # the highest
    low_rows: Codes  # how many members have the lowest code
    high_rows: Codes  # how many have the highest
    low_next: Codes  # the lowest code but one (-2: not known; see `boxes`)
    high_next: Codes  # the highest but one
    wide: FloatArray  # the width of the label from low to high, shape (classes, q)
    width: FloatArray  # its sum over quasi-identifiers, shape (classes,)
    excess: IntArray  # n c_v - s N_v of each value, cumulative for an ordered attribute, shape (classes, columns)
    counts: Codes  # c_v, the members with each value, shape (classes, columns)
    total: IntArray  # the numerator of the distance, shape (classes, attributes)
    present: IntArray  # how many distinct values there are, shape (classes, attributes)
    # by how much the closeness ratio of a class times its rows rises if a row with this value is to LEAVE or to JOIN,
    # infinite where it may not; right only where fresh; shape (2, classes, columns)
    rises: NDArray[np.float32]
    fresh: NDArray[np.bool_]  # whether `rises` is up to date, shape (2, classes)
    nodes: IntArray  # to work in (see `excess.sum_nodes`), shape (2, highest + 1, largest domain)
    old: Codes  # to work in, as member
    old_start: IntArray  # to work in, as start
    rank: Codes  # to work in: the place of each row in an order, shape (n,)
    tail: FloatArray  # to work in: widths of the last rows of a class, shape (n,)
    random: NDArray[np.uint64]  # the generator's state, shape (1,)


def make_table(block: Block) -> Table:
    """The block as the kernels read it."""
    requirement = block.requirement
    first = np.concatenate([[0], np.cumsum(requirement.domains)]).astype(np.int64)
    metric = metrics_of(requirement)
    expected = [
        np.cumsum(counts[:m]) if kind == ORDERED else counts[:m]
        for counts, m, kind in zip(requirement.tables, requirement.domains, metric, strict=True)
    ]
    return Table(
        quasi=np.ascontiguousarray(block.quasi, np.int32),
        cell=np.ascontiguousarray(block.cell, np.int32),
        widths=block.widths,
        requirement=requirement,
        first=first,
        column=(requirement.codes + first[:-1]).astype(np.int32),
        metric=metric,
        expected=np.concatenate(expected).astype(np.int64),
        share=_shares(requirement),
    )


def _shares(requirement: Requirement) -> FloatArray:
    """`Table.share`."""
    largest, limits = requirement.limits.shape[1] - 1, requirement.limits[:, -1]
    priced = (limits > 0) & (limits < ANYTHING)
    return np.where(priced, largest / np.maximum(limits, 1), 0.0)


def make_partition(table: Table, classes: IntArray, seed: int, spare: int = 0) -> Partition:
    """The classes with members in row order; figures are still to be counted (`changes.count_all`).

    classes: (n,), 0.. . spare: so many more classes, without rows.
    """
    rows, q = table.quasi.shape
    groups, columns, attributes = int(classes.max()) + 1 + spare, len(table.expected), len(table.metric)
    _, highest, longest = table.requirement.parents.shape

    def box() -> Codes:
        return np.zeros((groups, q), np.int32)

    return Partition(
        of=classes.astype(np.int32),
        place=np.zeros(rows, np.int32),
        start=np.zeros(groups, np.int64),
        room=np.zeros(groups, np.int64),
        size=np.bincount(classes, minlength=groups).astype(np.int64),
        member=np.zeros(2 * rows + 8 * groups, np.int32),
        low=box(),
        high=box(),
        low_rows=box(),
        high_rows=box(),
        low_next=box(),
        high_next=box(),
        wide=np.zeros((groups, q)),
        width=np.zeros(groups),
        excess=np.zeros((groups, columns), np.int64),
        counts=np.zeros((groups, columns), np.int32),
        total=np.zeros((groups, attributes), np.int64),
        present=np.zeros((groups, attributes), np.int64),
        rises=np.zeros((2, groups, columns), np.float32),
        fresh=np.zeros((2, groups), np.bool_),
        nodes=np.zeros((2, highest + 1, longest), np.int64),
        old=np.zeros(2 * rows + 8 * groups, np.int32),
        old_start=np.zeros(groups, np.int64),
        rank=np.zeros(rows, np.int32),
        tail=np.zeros(rows),
        random=np.array([seed], np.uint64),
    )


@kernel
def draw(random: NDArray[np.uint64]) -> Any:
    """The next of a sequence of 64-bit integers (splitmix64), as a nonnegative int64."""
    random[0] += np.uint64(GOLDEN)
    return np.int64(mixed(random[0]) >> np.uint64(1))
