"""The carve tree: a block divided top-down, every node within all that is asked, so that growth may stop anywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tclose_spark.measures.histograms import IntArray
from tclose_spark.methods.closeness_tree.block import Block, Requirement
from tclose_spark.methods.closeness_tree.loads import asked_of, holds
from tclose_spark.methods.closeness_tree.peel import goal_of, worst
from tclose_spark.methods.closeness_tree.plan import Splits, no_splits
from tclose_spark.methods.closeness_tree.search import (
    CUTS,
    FLOOR,
    HALVES,
    PLAIN,
    Found,
    Node,
    Present,
    Regions,
    Ruler,
    Rules,
    Space,
    column_of,
    find_present,
    halve,
    propose_all,
    search,
    sort_rows,
)

MOST_SINGLES = 50  # regions of at least a fiftieth of the rows each


def grow(
    block: Block, beta: float = 0.2, price: float = 8.0, stop: int = 0, scale: float = 1.0, least: int = 0, ceiling: float = 1.0
) -> IntArray:
    """The leaf of each row, shape (n,); leaves are numbered in the order of the tree.

    Every leaf holds what is asked, exactly, if the whole block does. The same rows in the same order give the same leaves.

    beta: how much of the load is kept for the first splits. price: bits a unit of load costs. stop: nodes of at most so many
    rows are not split. scale: rows of the table for each row of the block, where the block is a sample. least: the smallest
    side worth trying, in rows of the block (by default the smallest that can be near enough to the table). ceiling: the
    largest load of a side.
    """
    leaf, _ = _grow(block, beta, price, stop, scale, least, ceiling, nodes=0)
    return leaf


def grow_plan(
    block: Block, beta: float = 0.2, price: float = 8.0, stop: int = 0, scale: float = 1.0, least: int = 0, ceiling: float = 1.0
) -> tuple[Splits, IntArray]:
    """(the splits of `grow` in a form that applies to other rows, the leaf of each of the block's rows)."""
    leaf, splits = _grow(block, beta, price, stop, scale, least, ceiling, nodes=len(block.cell))
    return splits, leaf


def smallest_size(requirement: Requirement, most: int) -> int:
    """The smallest class, from k to `most` rows, whose distances can be within the limits; `most` if none can.

    Equal: the largest remainders, rounded up, are what is nearest to the table; ordered: every cumulative count rounded.
    Hierarchical distances are not looked at.
    """
    n = requirement.rows
    for size in range(requirement.k, most):
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


def _grow(
    block: Block, beta: float, price: float, stop: int, scale: float, least: int, ceiling: float, nodes: int
) -> tuple[IntArray, Splits]:
    n, q = block.quasi.shape
    need = block.requirement
    least = max(least, smallest_size(need, n // 2 + 1))
    rows = np.empty((q + 2, n), dtype=np.int32)
    rows[:q] = block.quasi.T
    rows[q] = block.cell
    rows[q + 1] = np.arange(n)
    widths = block.widths
    ruler = Ruler(widths.kinds, widths.missing, widths.place, widths.nodes, widths.shares)
    rules = Rules(ruler, goal_of(need), asked_of(need), _buckets(need, block), widths.domains, least, float(price))
    splits = no_splits(min(nodes, n // least), len(need.codes))
    leaf = np.zeros(n, dtype=np.int64)
    depth = max(float(np.log2(max(need.rows / need.k, 2.0))), 1.0)
    made, leaves = _divide(rows, leaf, beta / depth, stop / scale, scale, ceiling, rules, _space(block), splits)
    return leaf, Splits._make([*(array[:made] for array in splits[:-1]), leaves])


def _buckets(need: Requirement, block: Block) -> IntArray:
    """2, 4, 8, ... buckets of nearly equal mass of the cells in the order of their values, then each cell its own; (levels, cells)."""
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


def _space(block: Block) -> Space:
    n, q = block.quasi.shape
    cells, (attributes, values) = len(block.requirement.codes), block.requirement.tables.shape
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
        cell=np.zeros(n, np.int64),
        quota=np.zeros(cells, np.int64),
    )


@njit(cache=True)
def look_at(rows: Any, start: int, end: int, rules: Rules, space: Space) -> Node:
    """The node of the rows start..end-1; space.whole becomes its counts by value."""
    q = len(rows) - 2
    column, present = rows[q, start:end], space.present
    find_present(q, column, len(rules.goal.codes), space.tally, present)
    cells = present.codes[q, : present.length[q]].copy()
    cell = space.cell[: end - start]
    for c in range(len(cells)):
        space.tally[cells[c]] = c
    for i in range(len(column)):
        cell[i] = space.tally[column[i]]
    space.whole[:] = 0.0
    for c in range(len(cells)):
        space.tally[cells[c]] = 0
        for s in range(rules.goal.codes.shape[1]):
            space.whole[s, rules.goal.codes[cells[c], s]] += present.below[q, c + 1] - present.below[q, c]
    load, _ = worst(space.whole, float(end - start), rules.goal)
    return Node(rows, start, end, cells, cell, load)


@njit(cache=True)
def mark(found: Found, node: Node, rules: Rules, space: Space) -> int:
    """space.left: which rows of the node go left, of each cell the first ones as they stand; how many."""
    column = column_of(node, found.j)
    if found.kind == HALVES:
        sort_rows(found.j, column, space.present, space.tally, space.order)
        return halve(node, rules.buckets[found.level], space)
    quota, size = space.quota, 0
    for c in range(len(node.cells)):
        quota[c] = int(space.take[c])
    for i in range(len(column)):
        c = node.cell[i]
        goes = found.first <= column[i] <= found.last and quota[c] > 0
        space.left[i] = goes
        if goes:
            quota[c] -= 1
            size += 1
    return size


@njit(cache=True)
def is_sound(size: int, node: Node, rules: Rules, left: Any) -> bool:
    """Whether both sides hold what is asked, exactly, by a count of their rows."""
    codes, shape = rules.asked.codes, rules.asked.tables.shape
    inside, outside = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for i in range(len(node.cell)):
        c = node.cells[node.cell[i]]
        for s in range(codes.shape[1]):
            if left[i]:
                inside[s, codes[c, s]] += 1
            else:
                outside[s, codes[c, s]] += 1
    return holds(inside, size, rules.asked) and holds(outside, node.end - node.start - size, rules.asked)


@njit(cache=True)
def part_rows(node: Node, left: Any, other: Any) -> None:
    """Put the node's marked rows before the others, both in the order in which they stood. other: to work in."""
    for x in range(len(node.rows)):
        row = node.rows[x]
        to, count = node.start, 0
        for i in range(node.end - node.start):
            if left[i]:
                row[to] = row[node.start + i]
                to += 1
            else:
                other[count] = row[node.start + i]
                count += 1
        row[to : node.end] = other[:count]


@njit(cache=True)
def note(me: int, found: Found, node: Node, rules: Rules, space: Space, splits: Splits) -> None:
    """Write the split down as node `me` of the plan. Codes that the node lacks go where those next to them go."""
    j, column, left = found.j, column_of(node, found.j), space.left
    splits.quasi[me], splits.lo[me], splits.hi[me] = j, found.first, found.last
    counted, taken = np.zeros(len(rules.goal.codes)), np.zeros(len(rules.goal.codes))
    if found.kind == PLAIN:
        for i in range(len(column)):
            if found.first <= column[i] <= found.last:
                counted[node.cells[node.cell[i]]] += 1.0
                taken[node.cells[node.cell[i]]] += left[i]
        for c in range(len(counted)):
            splits.share[me, c] = taken[c] / counted[c] if counted[c] > 0 else 1.0
        return
    splits.lo[me], splits.hi[me] = 0, rules.domains[j] - 1
    bucket = rules.buckets[found.level]
    cut = np.full(len(counted), -1)
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
        x = bucket[c]
        splits.cut[me, c] = cut[x] if cut[x] >= 0 else middle
        splits.share[me, c] = taken[x] / counted[x] if counted[x] > 0 else 0.5


@njit(cache=True)
def _divide(
    rows: Any, leaf: Any, slack: float, stop: float, scale: float, ceiling: float, rules: Rules, space: Space, splits: Splits
) -> tuple[int, int]:
    """Grow the tree; (splits written down, leaves). leaf: of each row, by its number. slack: the part of the load that is kept
    back for each halving still to come.

    Invariant: the nodes on the stack and the leaves made so far divide the rows; each is a slice of the columns, and holds
    all that is asked; the stack is in the order of the tree, its first node on top.
    """
    n, k = rows.shape[1], rules.asked.k
    stack = np.zeros((n // max(rules.least, 1) + 2, 4), dtype=np.int64)
    stack[0] = np.array([0, n, -1, 0])
    height, made, leaves = 1, 0, 0
    other = np.empty(n, dtype=np.int32)
    while height > 0:
        height -= 1
        start, end, above, side = stack[height]
        size, child = 0, -1 - leaves
        if end - start >= 2 * rules.least and end - start > stop:
            node = look_at(rows, start, end, rules, space)
            later = np.log2(max((end - start) * scale / (2.0 * k), 1.0))
            size = split(node, max(FLOOR, 1.0 - slack * later) * ceiling, ceiling, rules, space, made, splits)
        if size > 0:
            part_rows(node, space.left, other)
            child = made
            made += 1
            stack[height] = np.array([start + size, end, child, 1])
            stack[height + 1] = np.array([start, start + size, child, 0])
            height += 2
        else:
            for p in range(start, end):
                leaf[rows[-1, p]] = leaves
            leaves += 1
        if above >= 0 and len(splits.quasi) > 0:
            if side == 0:
                splits.left[above] = child
            else:
                splits.right[above] = child
    return made, leaves


@njit(cache=True)
def split(node: Node, limit: float, ceiling: float, rules: Rules, space: Space, made: int, splits: Splits) -> int:
    """How many rows go left, marked in space.left; 0 if nothing splits.

    With the load that the schedule allows, then with all of it, then a little less: floats may pass what integers refuse.
    """
    count = propose_all(node, rules, space)
    for target in (limit, ceiling, ceiling * (1.0 - 1e-6)):
        found = search(count, target, node, rules, space)
        if found.kind == 0:
            if target == ceiling:
                return 0
            continue
        size = mark(found, node, rules, space)
        if is_sound(size, node, rules, space.left):
            if len(splits.quasi) > 0:
                note(made, found, node, rules, space, splits)
            return size
    return 0
