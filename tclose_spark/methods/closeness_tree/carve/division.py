"""Carrying out a split: which rows go left, whether both sides are sound, the rows put apart, the split written
down.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose_spark.kernels import kernel
from tclose_spark.methods.blocks.holding import holds
from tclose_spark.methods.blocks.routing_tree import Splits
from tclose_spark.methods.closeness_tree.carve.node import HALVES, REGION, Split, TreeNode, TreeRules, TreeWorkspace
from tclose_spark.methods.closeness_tree.carve.regions import find_present
from tclose_spark.methods.closeness_tree.carve.search import halve, sort_rows
from tclose_spark.table.arrays import Codes


@kernel
def find_cells(rows: Codes, start: int, end: int, rules: TreeRules, space: TreeWorkspace) -> int:
    """How many cells occur in the rows start..end-1: space.cells, and space.cell, the place in them of each row's.

    space.whole becomes the counts by value.
    """
    q = len(rows) - 2
    column, present, cells, whole = rows[q, start:end], space.present, space.cells, space.whole
    find_present(q, column, len(rules.goal.codes), space.tally, space.order, present)
    count = present.length[q]
    for c in range(count):
        cells[c] = present.codes[q, c]
        space.tally[cells[c]] = c
    for i in range(len(column)):
        space.cell[i] = space.tally[column[i]]
    whole[:] = 0.0
    for c in range(count):
        space.tally[cells[c]] = 0
        for s in range(rules.goal.codes.shape[1]):
            whole[s, rules.goal.codes[cells[c], s]] += present.below[q, c + 1] - present.below[q, c]
    return int(count)


@kernel
def mark(split: Split, node: TreeNode, rules: TreeRules, space: TreeWorkspace) -> int:
    """space.left: which rows of the node go left, of each cell the first ones as they stand; how many."""
    column = node.rows[split.j, node.start : node.end]
    if split.kind == HALVES:
        sort_rows(split.j, column, space.present, space.tally, space.order)
        return halve(node, rules.buckets[split.level], space)
    quota, size = space.quota, 0
    for c in range(len(node.cells)):
        quota[c] = int(space.take[c])
    for i in range(len(column)):
        c = node.cell[i]
        goes = split.first <= column[i] <= split.last and quota[c] > 0
        space.left[i] = goes
        if goes:
            quota[c] -= 1
            size += 1
    return size


@kernel
def is_sound(size: int, node: TreeNode, rules: TreeRules, space: TreeWorkspace) -> bool:
    """Whether both sides hold what is required, exactly, by a count of their rows (into space.sides)."""
    requirement, left, sides = rules.requirement, space.left, space.sides
    codes, number = requirement.codes, node.rows[-1, node.start : node.end]
    sides[:] = 0
    for i in range(len(number)):
        c, side = rules.exact[number[i]], 0 if left[i] else 1
        for s in range(codes.shape[1]):
            sides[side, s, codes[c, s]] += 1
    return holds(sides[0], size, requirement, space.excess) and holds(
        sides[1], node.end - node.start - size, requirement, space.excess
    )


@kernel
def part_rows(node: TreeNode, left: NDArray[np.bool_], other: Codes) -> None:
    """Put the node's marked rows before the others, both in the order in which they stood. other: to work in."""
    for x in range(len(node.rows)):
        row = node.rows[x]
        to, count = node.start, 0
        for i in range(node.end - node.start):  # no branch, whose side nothing foretells
            code = row[node.start + i]
            row[to] = code
            other[count] = code
            to += left[i]
            count += not left[i]
        for i in range(count):
            row[to + i] = other[i]


@kernel
def note(me: int, split: Split, node: TreeNode, rules: TreeRules, space: TreeWorkspace, splits: Splits) -> None:
    """Write the split down as node `me` of the plan. Codes that the node lacks go where those next to them go, a cell
    that the region lacks by the mean share.
    """
    j, left, counted, taken = split.j, space.left, space.counted, space.taken
    column, number = node.rows[j, node.start : node.end], node.rows[-1, node.start : node.end]
    splits.quasi[me], splits.lo[me], splits.hi[me] = j, split.first, split.last
    counted[:] = 0.0
    taken[:] = 0.0
    if split.kind == REGION:
        for i in range(len(column)):
            if split.first <= column[i] <= split.last:
                counted[rules.exact[number[i]]] += 1.0
                taken[rules.exact[number[i]]] += left[i]
        mean = taken.sum() / counted.sum()
        for c in range(len(counted)):
            splits.share[me, c] = taken[c] / counted[c] if counted[c] > 0 else mean
        return
    splits.lo[me], splits.hi[me] = 0, rules.widths.domains[j] - 1
    bucket, cut = rules.buckets[split.level], space.quota
    cut[:] = -1
    middle = column[space.order[len(column) // 2]]
    for i in range(len(column)):
        x = bucket[node.cells[node.cell[i]]]
        if left[i]:
            cut[x] = max(cut[x], column[i])
    for i in range(len(column)):
        x = bucket[node.cells[node.cell[i]]]
        if column[i] == cut[x]:
            counted[x] += 1.0
            taken[x] += left[i]
    for c in range(len(counted)):
        x = bucket[rules.merged[c]]
        splits.cut[me, c] = cut[x] if cut[x] >= 0 else middle
        splits.share[me, c] = taken[x] / counted[x] if counted[x] > 0 else 0.5


@kernel
def thin(node: TreeNode, rules: TreeRules, space: TreeWorkspace, made: int, splits: Splits) -> int:
    """Half the rows of every cell go left, odd ones by turns: both sides are as near to the table as the node, but for
    rounding.

    Marked in space.left; how many.
    """
    for c in range(len(node.cells)):
        space.take[c] = 0.0
    for c in node.cell:
        space.take[c] += 1.0
    odd = 0
    for c in range(len(node.cells)):
        odd += int(space.take[c]) & 1
        space.take[c] = int(space.take[c]) // 2 + (int(space.take[c]) & odd & 1)
    split = Split(score=0.0, kind=REGION, j=0, first=0, last=rules.widths.domains[0] - 1, level=-1)
    size = mark(split, node, rules, space)
    if len(splits.quasi) > 0:
        note(made, split, node, rules, space, splits)
    return size
