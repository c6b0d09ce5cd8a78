"""The carve tree: a block divided top-down, every node holds what is required, so growth may stop anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose_spark.kernels import kernel, log2
from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.holding import work_space
from tclose_spark.methods.blocks.requirement import Requirement
from tclose_spark.methods.blocks.routing_tree import Splits, first_splits, no_splits
from tclose_spark.methods.closeness_tree.carve.division import find_cells, is_sound, mark, note, part_rows, thin
from tclose_spark.methods.closeness_tree.carve.goal import Goal, goal_of, scratch_of, with_cells_merged, worst
from tclose_spark.methods.closeness_tree.carve.node import NOTHING, Schedule, TreeNode, TreeRules, TreeWorkspace
from tclose_spark.methods.closeness_tree.carve.regions import CUTS, Present, Regions
from tclose_spark.methods.closeness_tree.carve.search import FLOOR, propose_all, search
from tclose_spark.table.arrays import Codes, IntArray

HIDDEN_MOST = 2 / 3  # of a closeness ratio: parts where bins hide more are not worth trying
MOST_SINGLES = 50  # regions of at least a fiftieth of the rows each


class Tree(NamedTuple):
    """leaf: of each of the block's rows, shape (n,), numbered in the order of the tree.
    depth: splits above the deepest leaf.
    splits: in a form that applies to other rows; empty unless Growth.keep_splits.
    """

    leaf: IntArray
    depth: int
    splits: Splits


@dataclass(frozen=True, kw_only=True)
class TreeGrowth:
    """How a tree is grown; but for beta and price, of interest to the plan of a table, of which the block is a sample.

    beta: how much of the closeness ratio is kept for the first splits.
    price: bits that a unit of closeness ratio costs.
    scale: rows of the table for each row of the block.
    stop: nodes of at most so many rows of the block are not split.
    most: nodes of more rows are halved, cell by cell, where nothing splits them (0: never); such halves are not
        checked.
    least: the smallest side worth trying, in rows of the block (by default the smallest that can be near enough to the
        table).
    ceiling: the largest closeness ratio of a side.
    keep_splits: whether they are wanted.
    """

    beta: float = 0.2
    price: float = 8.0
    scale: float = 1.0
    stop: int = 0
    most: int = 0
    least: int = 0
    ceiling: float = 1.0
    keep_splits: bool = False


CLASSES = TreeGrowth()  # leaves as small as can be


def grow(block: Block, growth: TreeGrowth = CLASSES) -> Tree:
    """Divides a block. Every leaf holds what is required, exactly, if the whole block does (see Growth.most).

    The same rows in the same order give the same tree.
    """
    n, q = block.quasi.shape
    requirement = block.requirement
    goal, merged = with_cells_merged(goal_of(requirement))
    cell = merged[block.cell]
    least = max(growth.least, smallest_size(requirement, n // 2 + 1), smallest_in_bins(goal, n // 2 + 1))
    rows = np.empty((q + 2, n), dtype=np.int32)
    rows[:q] = block.quasi.T
    rows[q] = cell
    rows[q + 1] = np.arange(n)
    rules = _rules(block, growth, goal, merged, _buckets(cell, goal.codes), least)
    smallest = max(min(least, (growth.most + 1) // 2) if growth.most else least, 1)  # of all leaves
    splits = no_splits(n // smallest if growth.keep_splits else 0, len(requirement.codes))
    leaf = np.zeros(n, dtype=np.int64)
    stack = np.zeros((n // smallest + 2, len(Pending._fields)), dtype=np.int64)
    made, leaves, depth = _divide(rows, leaf, stack, rules, _space(block, goal), splits)
    return Tree(leaf, depth, first_splits(splits, made, leaves))


def _rules(block: Block, growth: TreeGrowth, goal: Goal, merged: IntArray, buckets: IntArray, least: int) -> TreeRules:
    requirement = block.requirement
    halvings = max(log2(max(requirement.rows / requirement.k, 2.0)), 1.0)
    return TreeRules(
        widths=block.widths,
        requirement=requirement,
        goal=goal,
        merged=merged,
        exact=block.cell,
        schedule=Schedule(
            slack=growth.beta / halvings,
            scale=float(growth.scale),
            stop=int(growth.stop),
            most=int(growth.most),
            ceiling=float(growth.ceiling),
        ),
        buckets=buckets,
        least=int(least),
        price=float(growth.price),
        surely=_surely(goal, requirement),
    )


def smallest_size(requirement: Requirement, most: int) -> int:
    """The smallest class, from k to `most` rows, whose distances can be within the limits; `most` if none can.

    Equal: the largest remainders, rounded up, are what is nearest to the table, and s rows reach no more than the s
    most frequent values; ordered: every cumulative count rounded. Hierarchical distances are not looked at.
    """
    n, least = requirement.rows, int(requirement.k)
    for s in np.flatnonzero(~requirement.ordered & (requirement.heights == 0)).tolist():
        held = np.cumsum(np.sort(requirement.tables[s, : requirement.domains[s]])[::-1])
        sizes = np.arange(1, len(held) + 1)[
            2 * (n - held) <= (float(requirement.limits[s, -1]) + 1.0) / max(requirement.limits.shape[1] - 1, 1)
        ]
        least = max(least, int(sizes[0]))
    for size in range(min(least, most), most):
        for s in range(len(requirement.domains)):
            table = requirement.tables[s, : requirement.domains[s]]
            if requirement.heights[s] > 0:
                continue
            if requirement.ordered[s]:
                part = np.cumsum(table)[:-1] * size % n
                nearest = int(np.minimum(part, n - part).sum())
            else:
                part = np.sort(table * size % n)[::-1]
                up = int(part.sum()) // n
                nearest = int((n - part[:up]).sum() + part[up:].sum())
            if nearest > requirement.limits[s, size]:
                break
        else:
            return size
    return most


def _surely(goal: Goal, requirement: Requirement) -> float:
    """Floats of values hardly ever pass what integers refuse; bins may, most where they hide what is only foretold."""
    if np.array_equal(goal.domains, requirement.domains):
        return 1.0 - 1e-6
    return 0.95 if goal.unseen.shape[1] == 1 else 0.7


def smallest_in_bins(goal: Goal, most: int) -> int:
    """The smallest part, of at most `most` rows, in which what bins hide leaves a part of the limits."""
    if goal.unseen.shape[1] == 1:
        return 1
    sizes = np.arange(min(most, goal.unseen.shape[1] - 1) + 1)
    fits: NDArray[np.bool_] = np.all(goal.unseen[:, : len(sizes)] <= HIDDEN_MOST * goal.unit[:, None] * sizes, axis=0)
    return int(np.argmax(fits[1:])) + 1 if fits[1:].any() else most


def _buckets(cell: IntArray, codes: Codes) -> IntArray:
    """2, 4, 8, ... buckets of nearly equal mass of the cells in the order of their values, then each cell its own;
    (levels, cells).
    """
    cells = len(codes)
    mass = np.bincount(cell, minlength=cells)
    order = np.lexsort(codes.T[::-1])
    middle = np.empty(cells)
    middle[order] = (np.cumsum(mass[order]) - mass[order] / 2) / mass.sum()
    levels, count = [], 2
    while count < cells:
        levels.append(np.unique((middle * count).astype(np.int64), return_inverse=True)[1])
        count *= 2
    if cells > 1:
        levels.append(np.arange(cells))
    return np.array(levels, dtype=np.int64).reshape(-1, cells)


def _space(block: Block, goal: Goal) -> TreeWorkspace:
    n, q = block.quasi.shape
    cells, (attributes, values) = len(goal.codes), goal.target.shape
    longest = max(int(block.widths.domains.max()), cells)
    most = q * (MOST_SINGLES * (block.widths.nodes.shape[1] + 1) + 2 * CUTS + 8)
    room = min(longest, n) + 1
    return TreeWorkspace(
        present=Present(
            codes=np.zeros((q + 1, room), np.int64),
            below=np.zeros((q + 1, room + 1), np.int64),
            length=np.zeros(q + 1, np.int64),
        ),
        regions=Regions(
            where=np.zeros((most, 3), np.int64), inner=np.zeros(most), outer=np.zeros(most), bound=np.zeros(most)
        ),
        scratch=scratch_of(goal),
        excess=work_space(block.requirement),
        tally=np.zeros(longest, np.int64),
        part=np.zeros(cells),
        take=np.zeros(cells),
        whole=np.zeros((attributes, values)),
        inside=np.zeros((attributes, values)),
        outside=np.zeros((attributes, values)),
        order=np.zeros(n, np.int64),
        ordered=np.zeros((q, n), np.int32),
        is_ordered=np.zeros(q, np.bool_),
        left=np.zeros(n, np.bool_),
        other=np.zeros(n, np.int32),
        cell=np.zeros(n, np.int64),
        cells=np.zeros(cells, np.int64),
        quota=np.zeros(cells, np.int64),
        counted=np.zeros(len(block.requirement.codes)),
        taken=np.zeros(len(block.requirement.codes)),
        sides=np.zeros((2, *block.requirement.tables.shape), np.int64),
    )


class Pending(NamedTuple):
    """A node on the stack.

    start: its rows are start..end-1.
    end: see start.
    above: the split it comes from, -1 if none.
    side: of that split: 0 left, 1 right.
    depth: how many splits are above it.
    """

    start: int
    end: int
    above: int
    side: int
    depth: int


@kernel
def push(stack: IntArray, at: int, pending: Pending) -> None:
    """Put a node on the stack."""
    stack[at, 0], stack[at, 1], stack[at, 2] = pending.start, pending.end, pending.above
    stack[at, 3], stack[at, 4] = pending.side, pending.depth


@kernel
def _divide(
    rows: Codes, leaf: IntArray, stack: IntArray, rules: TreeRules, space: TreeWorkspace, splits: Splits
) -> tuple[int, int, int]:
    """Grow the tree; (splits written down, leaves, depth). leaf: of each row, by its number.

    Invariant: the nodes on the stack and the leaves made so far divide the rows; each is a slice of the columns, and
    holds all that is required, but for parts of nodes halved for their size; the stack is in the order of the tree, its
    first node on top.
    """
    schedule, least = rules.schedule, rules.least
    push(stack, 0, Pending(start=0, end=rows.shape[1], above=-1, side=0, depth=0))
    height, made, leaves, deepest = 1, 0, 0, 0
    while height > 0:
        height -= 1
        start, end, above, side, depth = stack[height]
        size, child = 0, -1 - leaves
        if end - start > schedule.stop and (end - start >= 2 * least or 0 < schedule.most < end - start):
            cells = space.cells[: find_cells(rows, start, end, rules, space)]
            ratio, _ = worst(space.whole, float(end - start), rules.goal, space.scratch)
            node = TreeNode(rows=rows, start=start, end=end, cells=cells, cell=space.cell[: end - start], ratio=ratio)
            if end - start >= 2 * least:
                size = split(node, rules, space, made, splits)
            if size == 0 and 0 < schedule.most < end - start:
                size = thin(node, rules, space, made, splits)
        if size > 0:
            part_rows(node, space.left, space.other)
            child = made
            made += 1
            push(stack, height, Pending(start=start + size, end=end, above=child, side=1, depth=depth + 1))
            push(stack, height + 1, Pending(start=start, end=start + size, above=child, side=0, depth=depth + 1))
            height += 2
        else:
            for p in range(start, end):
                leaf[rows[-1, p]] = leaves
            leaves += 1
            deepest = max(deepest, depth)
        if above >= 0 and len(splits.quasi) > 0:
            if side == 0:
                splits.left[above] = child
            else:
                splits.right[above] = child
    return made, leaves, deepest


@kernel
def split(node: TreeNode, rules: TreeRules, space: TreeWorkspace, made: int, splits: Splits) -> int:
    """How many rows go left, marked in space.left; 0 if nothing splits.

    With the closeness ratio that the schedule allows, then with all of it, then less: floats, or values in bins, may
    pass what integers refuse.
    """
    schedule = rules.schedule
    later = log2(max((node.end - node.start) * schedule.scale / (2.0 * rules.requirement.k), 1.0))
    limit, ceiling = max(FLOOR, 1.0 - schedule.slack * later) * schedule.ceiling, schedule.ceiling
    count = propose_all(node, rules, space)
    for target in (limit, ceiling, ceiling * rules.surely):
        best = search(count, target, node, rules, space)
        if best.kind == NOTHING:
            if target == ceiling:
                return 0
            continue
        size = mark(best, node, rules, space)
        if is_sound(size, node, rules, space):
            if len(splits.quasi) > 0:
                note(made, best, node, rules, space, splits)
            return size
    return 0
