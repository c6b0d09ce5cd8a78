"""Carrying out a split: marking the rows that go left, checking both sides exactly, moving rows,
recording the split.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose_spark.kernels import kernel
from tclose_spark.kernels.sorting import find_present, sort_rows
from tclose_spark.methods.blocks.holding import holds
from tclose_spark.methods.blocks.routing_tree import Splits
from tclose_spark.methods.closeness_tree.carve.halves import halve
from tclose_spark.methods.closeness_tree.carve.node import (
    HALVES,
    REGION,
    Split,
    TreeInputs,
    TreeNode,
    TreeWorkspace,
)
from tclose_spark.table.arrays import Codes


@kernel
def find_cells(rows: Codes, start: int, end: int, inputs: TreeInputs, work: TreeWorkspace) -> int:
    """Set work.cells, work.cell and work.whole for the rows start..end-1; how many cells occur."""
    q = len(rows) - 2
    column, present, cells, whole = rows[q, start:end], work.present, work.cells, work.whole
    find_present(q, column, len(inputs.goal.codes), work.tally, work.order, present)
    count = present.length[q]
    for c in range(count):
        cells[c] = present.codes[q, c]
        work.tally[cells[c]] = c
    for i in range(len(column)):
        work.cell[i] = work.tally[column[i]]
    whole[:] = 0.0
    for c in range(count):
        work.tally[cells[c]] = 0
        for s in range(inputs.goal.codes.shape[1]):
            whole[s, inputs.goal.codes[cells[c], s]] += (
                present.below[q, c + 1] - present.below[q, c]
            )
    return int(count)


@kernel
def mark_left(split: Split, node: TreeNode, inputs: TreeInputs, work: TreeWorkspace) -> int:
    """Set work.left to the rows of the node that go left, of each cell the first ones; how many."""
    column = node.rows[split.j, node.start : node.end]
    if split.kind == HALVES:
        sort_rows(split.j, column, work.present, work.tally, work.order)
        return halve(node, work)
    quota, size = work.quota, 0
    for c in range(len(node.cells)):
        quota[c] = int(work.take[c])
    for i in range(len(column)):
        c = node.cell[i]
        goes = split.first <= column[i] <= split.last and quota[c] > 0
        work.left[i] = goes
        if goes:
            quota[c] -= 1
            size += 1
    return size


@kernel
def is_sound(size: int, node: TreeNode, inputs: TreeInputs, work: TreeWorkspace) -> bool:
    """Whether both sides meet the requirement, exactly, by a count of their rows (in
    work.sides).
    """
    requirement, left, sides = inputs.requirement, work.left, work.sides
    codes, number = requirement.codes, node.rows[-1, node.start : node.end]
    sides[:] = 0
    for i in range(len(number)):
        c, side = inputs.exact[number[i]], 0 if left[i] else 1
        for s in range(codes.shape[1]):
            sides[side, s, codes[c, s]] += 1
    return holds(sides[0], size, requirement, work.excess) and holds(
        sides[1], node.end - node.start - size, requirement, work.excess
    )


@kernel
def part_rows(node: TreeNode, left: NDArray[np.bool_], other: Codes) -> None:
    """Move the node's rows that go left before the others, both in their old order. other: to work
    in.
    """
    for x in range(len(node.rows)):
        row = node.rows[x]
        to, count = node.start, 0
        for i in range(node.end - node.start):  # without a branch, which would be hard to predict
            code = row[node.start + i]
            row[to] = code
            other[count] = code
            to += left[i]
            count += not left[i]
        for i in range(count):
            row[to + i] = other[i]


@kernel
def record_split(
    me: int, split: Split, node: TreeNode, inputs: TreeInputs, work: TreeWorkspace, splits: Splits
) -> None:
    """Record the split as node `me` of `splits`. Codes that the node lacks go where their
    neighbours go. A cell that the region lacks is divided by the mean share.
    """
    j, left, counted, taken = split.j, work.left, work.counted, work.taken
    column, number = node.rows[j, node.start : node.end], node.rows[-1, node.start : node.end]
    splits.quasi[me], splits.lo[me], splits.hi[me] = j, split.first, split.last
    counted[:] = 0.0
    taken[:] = 0.0
    if split.kind == REGION:
        for i in range(len(column)):
            if split.first <= column[i] <= split.last:
                counted[inputs.exact[number[i]]] += 1.0
                taken[inputs.exact[number[i]]] += left[i]
        mean = taken.sum() / counted.sum()
        for c in range(len(counted)):
            splits.share[me, c] = taken[c] / counted[c] if counted[c] > 0 else mean
        return
    splits.lo[me], splits.hi[me] = 0, inputs.widths.domains[j] - 1
    cut = work.quota
    cut[:] = -1
    middle = column[work.order[len(column) // 2]]
    for i in range(len(column)):
        x = node.cells[node.cell[i]]
        if left[i]:
            cut[x] = max(cut[x], column[i])
    for i in range(len(column)):
        x = node.cells[node.cell[i]]
        if column[i] == cut[x]:
            counted[x] += 1.0
            taken[x] += left[i]
    for c in range(len(counted)):
        x = inputs.merged[c]
        splits.cut[me, c] = cut[x] if cut[x] >= 0 else middle
        splits.share[me, c] = taken[x] / counted[x] if counted[x] > 0 else 0.5


@kernel
def halve_cells(
    node: TreeNode, inputs: TreeInputs, work: TreeWorkspace, made: int, splits: Splits
) -> int:
    """Set work.left to half the rows of every cell, odd ones rounded up and down by turns; how
    many. Up to rounding, both sides are as near to the table as the node.
    """
    for c in range(len(node.cells)):
        work.take[c] = 0.0
    for c in node.cell:
        work.take[c] += 1.0
    odd = 0
    for c in range(len(node.cells)):
        odd += int(work.take[c]) & 1
        work.take[c] = int(work.take[c]) // 2 + (int(work.take[c]) & odd & 1)
    split = Split(score=0.0, kind=REGION, j=0, first=0, last=inputs.widths.domains[0] - 1)
    size = mark_left(split, node, inputs, work)
    if len(splits.quasi) > 0:
        record_split(made, split, node, inputs, work, splits)
    return size
