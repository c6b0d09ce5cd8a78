"""The carve tree: a block divided top-down, every node within all that is asked, so that growth may stop anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tclose_spark.kernels import kernel, log2
from tclose_spark.methods.closeness_tree.block import Block, Requirement
from tclose_spark.methods.closeness_tree.division import find_cells, is_sound, mark, note, part_rows, thin
from tclose_spark.methods.closeness_tree.loads import asked_of
from tclose_spark.methods.closeness_tree.peel import MOST_BINS, Goal, goal_of, worst
from tclose_spark.methods.closeness_tree.regions import CUTS, Present, Regions, Ruler
from tclose_spark.methods.closeness_tree.routing_tree import Splits, no_splits
from tclose_spark.methods.closeness_tree.search import FLOOR, Node, Rules, Space, propose_all, search
from tclose_spark.table.arrays import IntArray

MOST_SINGLES = 50  # regions of at least a fiftieth of the rows each


class Tree(NamedTuple):
    """leaf: of each of the block's rows, shape (n,), numbered in the order of the tree. depth: splits above the deepest
    leaf.
    splits: in a form that applies to other rows; empty unless they were asked for.
    """

    leaf: IntArray
    depth: int
    splits: Splits


@dataclass(frozen=True)
class Growth:
    """How a tree is grown. beta: how much of the load is kept for the first splits. price: bits that a unit of load
    costs.

    For the plan of a table, of which the block is a sample: scale: rows of the table for each row of the block. stop:
    nodes of at most so many rows of the block are not split. most: nodes of more rows are halved, cell by cell, where
    nothing splits them (0: never); such halves are not checked. least: the smallest side worth trying, in rows of the
    block (by default the smallest that can be near enough to the table). ceiling: the largest load of a side.
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


CLASSES = Growth()  # leaves as small as can be


def grow(block: Block, growth: Growth = CLASSES) -> Tree:
    """Divides a block. Every leaf holds what is asked, exactly, if the whole block does (see Growth.most).

    The same rows in the same order give the same tree.
    """
    n, q = block.quasi.shape
    need, widths = block.requirement, block.widths
    least = max(growth.least, smallest_size(need, n // 2 + 1))
    rows = np.empty((q + 2, n), dtype=np.int32)
    rows[:q] = block.quasi.T
    rows[q] = block.cell
    rows[q + 1] = np.arange(n)
    surely = 1.0 - 1e-6 if int(need.domains.max()) <= MOST_BINS else 0.95
    ruler, goal = Ruler(widths.kinds, widths.missing, widths.place, widths.nodes, widths.shares), goal_of(need)
    rules = Rules(
        ruler, goal, asked_of(need), _buckets(need, block), widths.domains, least, float(growth.price), surely
    )
    smallest = max(min(least, (growth.most + 1) // 2) if growth.most else least, 1)  # of all leaves
    splits = no_splits(n // smallest if growth.keep_splits else 0, len(need.codes))
    leaf = np.zeros(n, dtype=np.int64)
    slack = growth.beta / max(log2(max(need.rows / need.k, 2.0)), 1.0)
    stack = np.zeros((n // smallest + 2, 5), dtype=np.int64)
    made, leaves, depth = _divide(
        rows,
        leaf,
        stack,
        slack,
        growth.stop,
        growth.most,
        growth.scale,
        growth.ceiling,
        rules,
        _space(block, goal),
        splits,
    )
    return Tree(leaf, depth, Splits._make([*(array[:made] for array in splits[:-1]), leaves]))


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


def _buckets(need: Requirement, block: Block) -> IntArray:
    """2, 4, 8, ... buckets of nearly equal mass of the cells in the order of their values, then each cell its own;
    (levels, cells).
    """
    cells = len(need.codes)
    mass = np.bincount(block.cell, minlength=cells)
    order = np.lexsort(need.codes.T[::-1])
    middle = np.empty(cells)
    middle[order] = (np.cumsum(mass[order]) - mass[order] / 2) / mass.sum()
    levels, count = [], 2
    while count < cells:
        levels.append(np.unique((middle * count).astype(np.int64), return_inverse=True)[1])
        count *= 2
    if cells > 1:
        levels.append(np.arange(cells))
    return np.array(levels, dtype=np.int64).reshape(-1, cells)


def _space(block: Block, goal: Goal) -> Space:
    n, q = block.quasi.shape
    cells, (attributes, values) = len(block.requirement.codes), goal.target.shape
    longest = max(int(block.widths.domains.max()), cells)
    most = q * (MOST_SINGLES * (block.widths.nodes.shape[1] + 1) + 2 * CUTS + 8)
    room = min(longest, n) + 1
    return Space(
        Present(np.zeros((q + 1, room), np.int64), np.zeros((q + 1, room + 1), np.int64), np.zeros(q + 1, np.int64)),
        Regions(np.zeros((most, 3), np.int64), np.zeros(most), np.zeros(most), np.zeros(most)),
        tally=np.zeros(longest, np.int64),
        part=np.zeros(cells),
        take=np.zeros(cells),
        whole=np.zeros((attributes, values)),
        inside=np.zeros((attributes, values)),
        outside=np.zeros((attributes, values)),
        slope=np.zeros(values),
        order=np.zeros(n, np.int64),
        left=np.zeros(n, np.bool_),
        other=np.zeros(n, np.int32),
        cell=np.zeros(n, np.int64),
        cells=np.zeros(cells, np.int64),
        quota=np.zeros(cells, np.int64),
        counted=np.zeros(cells),
        taken=np.zeros(cells),
        sides=np.zeros((2, *block.requirement.tables.shape), np.int64),
    )


@kernel
def push(stack: Any, at: int, start: int, end: int, above: int, side: int, depth: int) -> None:
    """Put a node on the stack: its rows, the split it comes from (-1: none), the side of it, how many splits are above
    it.
    """
    stack[at, 0], stack[at, 1], stack[at, 2], stack[at, 3], stack[at, 4] = start, end, above, side, depth


@kernel
def _divide(
    rows: Any,
    leaf: Any,
    stack: Any,
    slack: float,
    stop: int,
    most: int,
    scale: float,
    ceiling: float,
    rules: Rules,
    space: Space,
    splits: Splits,
) -> tuple[int, int, int]:
    """Grow the tree; (splits written down, leaves, depth). leaf: of each row, by its number. slack: the part of the
    load that is kept back for each halving still to come.

    Invariant: the nodes on the stack and the leaves made so far divide the rows; each is a slice of the columns, and
    holds all that is asked, but for parts of nodes halved for their size; the stack is in the order of the tree, its
    first node on top.
    """
    push(stack, 0, 0, rows.shape[1], -1, 0, 0)
    height, made, leaves, deepest = 1, 0, 0, 0
    while height > 0:
        height -= 1
        start, end, above, side, depth = stack[height]
        size, child = 0, -1 - leaves
        if end - start > stop and (end - start >= 2 * rules.least or 0 < most < end - start):
            cells = space.cells[: find_cells(rows, start, end, rules, space)]
            load, _ = worst(space.whole, float(end - start), rules.goal)
            node = Node(rows, start, end, cells, space.cell[: end - start], load)
            later = log2(max((end - start) * scale / (2.0 * rules.asked.k), 1.0))
            if end - start >= 2 * rules.least:
                size = split(node, max(FLOOR, 1.0 - slack * later) * ceiling, ceiling, rules, space, made, splits)
            if size == 0 and 0 < most < end - start:
                size = thin(node, rules, space, made, splits)
        if size > 0:
            part_rows(node, space.left, space.other)
            child = made
            made += 1
            push(stack, height, start + size, end, child, 1, depth + 1)
            push(stack, height + 1, start, start + size, child, 0, depth + 1)
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
def split(node: Node, limit: float, ceiling: float, rules: Rules, space: Space, made: int, splits: Splits) -> int:
    """How many rows go left, marked in space.left; 0 if nothing splits.

    With the load that the schedule allows, then with all of it, then less: floats, or values in bins, may pass what
    integers refuse.
    """
    count = propose_all(node, rules, space)
    for target in (limit, ceiling, ceiling * rules.surely):
        found = search(count, target, node, rules, space)
        if found.kind == 0:
            if target == ceiling:
                return 0
            continue
        size = mark(found, node, rules, space)
        if is_sound(size, node, rules, space.left, space.sides):
            if len(splits.quasi) > 0:
                note(made, found, node, rules, space, splits)
            return size
    return 0
