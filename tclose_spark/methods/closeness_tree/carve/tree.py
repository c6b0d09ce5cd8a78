"""The carve tree: a block is divided from the top down. Every node meets the requirement, so growth
may stop anywhere.

Carrying out a split: marking the rows that go left, checking both sides exactly, moving rows,
recording the split.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose_spark.kernels import kernel, log2
from tclose_spark.kernels.sorting import find_present, sort_rows
from tclose_spark.methods.blocks.block import Block, Requirement
from tclose_spark.methods.blocks.holding import holds
from tclose_spark.methods.blocks.routing_tree import Splits, first_splits, no_splits
from tclose_spark.methods.closeness_tree.carve.goal import Goal, goal_of, with_cells_merged, worst
from tclose_spark.methods.closeness_tree.carve.halves import halve
from tclose_spark.methods.closeness_tree.carve.node import (
    HALVES,
    NOTHING,
    REGION,
    Schedule,
    Split,
    TreeInputs,
    TreeNode,
    TreeWorkspace,
    make_workspace,
)
from tclose_spark.methods.closeness_tree.carve.routing import find_shares_of_cells, route_left
from tclose_spark.methods.closeness_tree.carve.search import FLOOR, best_split, propose_all
from tclose_spark.methods.closeness_tree.carve.sizes import smallest_in_bins, smallest_size
from tclose_spark.table.arrays import NO_HASHES, Codes, HashArray, IntArray


@kernel
def find_cells(rows: Codes, start: int, end: int, inputs: TreeInputs, work: TreeWorkspace) -> int:
    """Set work.cells, work.cell and work.whole for the rows start..end-1; how many cells occur."""
    q = len(rows) - 2
    column = rows[q, start:end]
    present = work.present
    cells = work.cells
    whole = work.whole
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
    quota = work.quota
    size = 0
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
    requirement = inputs.requirement
    left = work.left
    sides = work.sides
    codes = requirement.codes
    number = node.rows[len(node.rows) - 1, node.start : node.end]
    sides[:] = 0
    for i in range(len(number)):
        c = inputs.exact[number[i]]
        side = 0 if left[i] else 1
        for s in range(codes.shape[1]):
            sides[side, s, codes[c, s]] += 1
    return holds(sides[0], size, requirement, work.excess) and holds(
        sides[1],
        node.end - node.start - size,
        requirement,
        work.excess,
    )


@kernel
def part_rows(node: TreeNode, left: NDArray[np.bool_], other: Codes) -> None:
    """Move the node's rows that go left before the others, both in their old order. other: to work
    in.
    """
    for x in range(len(node.rows)):
        row = node.rows[x]
        to = node.start
        count = 0
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
    me: int,
    split: Split,
    node: TreeNode,
    inputs: TreeInputs,
    work: TreeWorkspace,
    splits: Splits,
) -> None:
    """Record the split as node `me` of `splits`. Codes that the node lacks go where their
    neighbours go.
    """
    is_region = split.kind == REGION
    splits.quasi[me] = split.j
    splits.lo[me] = split.first if is_region else 0
    splits.hi[me] = split.last if is_region else inputs.widths.domains[split.j] - 1
    find_shares_of_cells(split, node, inputs.merged, work, splits.cut[me], splits.share[me])


@kernel
def halve_cells(
    node: TreeNode,
    inputs: TreeInputs,
    work: TreeWorkspace,
    made: int,
    splits: Splits,
) -> int:
    """Set work.left to about half the rows of every cell; how many, 0 if a side has too few. Up to
    rounding, and to copies of a row, both sides are as near to the table as the node.
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
    if len(inputs.hashes) > 0:
        size = route_left(made, inputs.smallest, split, node, inputs, work)
        if size > 0:
            record_split(made, split, node, inputs, work, splits)
    return size


class Tree(NamedTuple):
    """A tree that was grown over the rows of a block."""

    leaf: IntArray  # of each row, shape (n,), numbered in the order of the tree
    depth: int  # splits above the deepest leaf
    splits: Splits  # they apply to other rows, too; empty unless rows have hashes


@dataclass(frozen=True, kw_only=True)
class TreeGrowth:
    """How a tree is grown. All but reserve and price are for the plan of a table, of which the
    block is a sample.

    reserve: how much of the closeness ratio is reserved for later splits.
    price: bits that a unit of closeness ratio costs.
    scale: rows of the table for each row of the block.
    stop: nodes of at most so many rows of the block are not split.
    most: nodes of more rows are halved, cell by cell, if nothing splits them (0: never), except for
        those of which copies of few rows leave a side too small. Such halves are not checked.
    least: the smallest side worth trying, in rows of the block (by default the smallest that can be
        within the limits).
    ceiling: the largest closeness ratio of a side.
    """

    reserve: float = 0.2
    price: float = 8.0
    scale: float = 1.0
    stop: int = 0
    most: int = 0
    least: int = 0
    ceiling: float = 1.0


CLASSES = TreeGrowth()  # leaves as small as can be


def grow(
    block: Block,
    growth: TreeGrowth = CLASSES,
    hashes: HashArray = NO_HASHES,
) -> Tree:
    """The tree of a block. Every leaf meets the requirement, exactly, if the whole block does
    (except for TreeGrowth.most). The same rows in the same order give the same tree.

    hashes: of the rows, shape (n,), if the tree keeps its splits. Each leaf then has the rows that
        a `RoutingTree` with these splits leads to it.
    """
    n, q = block.quasi.shape
    requirement = block.requirement
    goal, merged = with_cells_merged(goal_of(requirement))
    cell = merged[block.cell]
    least = max(
        growth.least,
        smallest_size(requirement, n // 2 + 1),
        smallest_in_bins(goal, n // 2 + 1),
    )
    rows = np.empty((q + 2, n), dtype=np.int32)
    rows[:q] = block.quasi.T
    rows[q] = cell
    rows[q + 1] = np.arange(n)
    inputs = _make_inputs(block, growth, goal, merged, least, hashes)
    smallest = inputs.smallest
    splits = no_splits(n // smallest if len(hashes) else 0, len(requirement.codes))
    leaf = np.zeros(n, dtype=np.int64)
    stack = np.zeros((n // smallest + 2, len(Pending._fields)), dtype=np.int64)
    work = make_workspace(block, goal)
    made, leaves, depth = _divide(rows, leaf, stack, inputs, work, splits)
    return Tree(leaf, depth, first_splits(splits, made, leaves))


def _make_inputs(
    block: Block,
    growth: TreeGrowth,
    goal: Goal,
    merged: IntArray,
    least: int,
    hashes: HashArray,
) -> TreeInputs:
    requirement = block.requirement
    halvings = max(log2(max(requirement.rows / requirement.k, 2.0)), 1.0)
    return TreeInputs(
        widths=block.widths,
        requirement=requirement,
        goal=goal,
        merged=merged,
        exact=block.cell,
        schedule=Schedule(
            slack=growth.reserve / halvings,
            scale=float(growth.scale),
            stop=int(growth.stop),
            most=int(growth.most),
            ceiling=float(growth.ceiling),
        ),
        least=int(least),
        smallest=max(min(int(least), (growth.most + 1) // 2) if growth.most else int(least), 1),
        price=float(growth.price),
        hashes=hashes,
        safe_share=_safe_share(goal, requirement),
    )


def _safe_share(goal: Goal, requirement: Requirement) -> float:
    """`TreeInputs.safe_share`: near 1 for values, lower for bins, and lowest if values inside them
    are only estimated.
    """
    if np.array_equal(goal.domains, requirement.domains):
        return 1.0 - 1e-6
    return 0.95 if goal.hidden.shape[1] == 1 else 0.7


class Pending(NamedTuple):
    """A node on the stack."""

    start: int  # it has the rows start..end-1
    end: int
    above: int  # the split that it comes from, -1 if none
    side: int  # of that split: 0 left, 1 right
    depth: int  # splits above it


@kernel
def push(stack: IntArray, at: int, pending: Pending) -> None:
    """Put a node on the stack."""
    stack[at, 0] = pending.start
    stack[at, 1] = pending.end
    stack[at, 2] = pending.above
    stack[at, 3] = pending.side
    stack[at, 4] = pending.depth


@kernel
def _divide(
    rows: Codes,
    leaf: IntArray,
    stack: IntArray,
    inputs: TreeInputs,
    work: TreeWorkspace,
    splits: Splits,
) -> tuple[int, int, int]:
    """Grow the tree; (splits, leaves, depth). leaf: becomes the leaf of each row, by its number.

    Invariant: the nodes on the stack and the leaves so far are slices of the columns, and together
        are all rows. Each meets the requirement, unless it comes from halving by cell. The first
        node of the tree is on top of the stack.
    """
    schedule = inputs.schedule
    least = inputs.least
    push(stack, 0, Pending(start=0, end=rows.shape[1], above=-1, side=0, depth=0))
    height = 1
    made = 0
    leaves = 0
    deepest = 0
    while height > 0:
        height -= 1
        start, end, above, side, depth = stack[height]
        size = 0
        child = -1 - leaves
        if end - start > schedule.stop and (
            end - start >= 2 * least or 0 < schedule.most < end - start
        ):
            cells = work.cells[: find_cells(rows, start, end, inputs, work)]
            ratio, _ = worst(work.whole, float(end - start), inputs.goal, work.scratch)
            node = TreeNode(
                rows=rows,
                start=start,
                end=end,
                cells=cells,
                cell=work.cell[: end - start],
                ratio=ratio,
            )
            if end - start >= 2 * least:
                size = split(node, inputs, work, made, splits)
            if size == 0 and 0 < schedule.most < end - start:
                size = halve_cells(node, inputs, work, made, splits)
        if size > 0:
            part_rows(node, work.left, work.other)
            child = made
            made += 1
            push(
                stack,
                height,
                Pending(start=start + size, end=end, above=child, side=1, depth=depth + 1),
            )
            push(
                stack,
                height + 1,
                Pending(start=start, end=start + size, above=child, side=0, depth=depth + 1),
            )
            height += 2
        else:
            for p in range(start, end):
                leaf[rows[len(rows) - 1, p]] = leaves
            leaves += 1
            deepest = max(deepest, depth)
        if above >= 0 and len(inputs.hashes) > 0:
            if side == 0:
                splits.left[above] = child
            else:
                splits.right[above] = child
    return made, leaves, deepest


@kernel
def split(
    node: TreeNode,
    inputs: TreeInputs,
    work: TreeWorkspace,
    made: int,
    splits: Splits,
) -> int:
    """Set work.left to the rows that go left by the best split; how many, 0 if nothing splits.

    The limit is first the closeness ratio that the schedule allows, then all of it, then less,
    because integers may refuse what floats, or values in bins, allow.
    """
    schedule = inputs.schedule
    later = log2(max((node.end - node.start) * schedule.scale / (2.0 * inputs.requirement.k), 1.0))
    limit = max(FLOOR, 1.0 - schedule.slack * later) * schedule.ceiling
    ceiling = schedule.ceiling
    count = propose_all(node, inputs, work)
    for target in (limit, ceiling, ceiling * inputs.safe_share):
        best = best_split(count, target, node, inputs, work)
        if best.kind == NOTHING:
            if target == ceiling:
                return 0
            continue
        size = mark_left(best, node, inputs, work)
        if len(inputs.hashes) > 0:
            size = route_left(made, inputs.least, best, node, inputs, work)
        if size > 0 and is_sound(size, node, inputs, work):
            if len(inputs.hashes) > 0:
                record_split(made, best, node, inputs, work, splits)
            return size
    return 0
