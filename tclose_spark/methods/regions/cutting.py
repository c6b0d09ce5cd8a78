"""A block cut into regions: top-down, every part holds what is required, so the cutting may stop anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.kernels.structures import structure
from tclose_spark.methods.regions.block import RegionBlock
from tclose_spark.methods.regions.children import find_children, order_rows
from tclose_spark.methods.regions.choice import enter, find_splits, lost_rows
from tclose_spark.methods.regions.space import CutRules, CutWorkspace, Way, rules_of, space_of
from tclose_spark.table.arrays import IntArray


@structure
class RegionCuts(NamedTuple):
    """A tree of parts; part 0 is the whole, and a part comes before those that it is divided into.

    quasi: the quasi-identifier that a part is divided by, -1: it is a region, shape (parts,).
    parent: the part that it comes from, -1: none, shape (parts,).
    lo, hi: its lowest and highest code of the quasi-identifier that its parent is divided by, shape (parts,).
    region: of each row, the number of its part, shape (n,).
    """

    quasi: IntArray
    parent: IntArray
    lo: IntArray
    hi: IntArray
    region: IntArray


@dataclass(frozen=True)
class RegionGrowth:
    """way: see Way.
    pilots: so many of the best splits of a part are tried to the end, as the way alone would go on from each, and the
        one that loses least is taken; 1: the best one.
    """

    way: Way
    pilots: int = 1


def cut(block: RegionBlock, growth: RegionGrowth, not_by: Sequence[int] | IntArray = ()) -> RegionCuts:
    """The regions of a block, which as a whole holds what is required: no two of their labels meet.

    not_by: quasi-identifiers that the whole block is not divided by.

    They follow from the rows as a multiset: neither their order nor their hashes count.
    """
    n = len(block.cell)
    quasi, parent, lo, hi = np.full((4, 2 * n + 1), -1, dtype=np.int64)
    region, rows, trial = np.zeros(n, dtype=np.int64), np.arange(n), np.zeros(n, dtype=np.int64)
    stack, other = np.zeros((2, n + 1, 3), dtype=np.int64)
    space, rules = space_of(block, growth.pilots), rules_of(block, growth.way)
    space.banned[list(not_by)] = True
    tree = RegionCuts(quasi, parent, lo, hi, region)
    made = _grow(rows, trial, stack, other, rules, space, space_of(block, 1), tree)
    return RegionCuts(quasi[:made], parent[:made], lo[:made], hi[:made], region)


def first_splits(block: RegionBlock, growth: RegionGrowth) -> list[list[IntArray]]:
    """The best splits of a whole block, by each way, as the places of the rows of their children."""
    n, known = len(block.cell), dict[tuple[int, int], None]()
    space, rules = space_of(block, growth.pilots), rules_of(block, growth.way)
    for way in range(len(growth.way.price)):
        found = find_splits(np.arange(n), way, rules, space) if enter(np.arange(n), rules, space) else 0
        known |= dict.fromkeys((int(j), int(at)) for j, at in space.splits[:found])
    splits = []
    for j, at in known:
        rows = np.arange(n)
        parts = _divide(j, at, rows, rules, space)
        splits.append(np.split(rows, space.ends[1:parts]))
    return splits


@kernel
def _divide(j: int, at: int, rows: IntArray, rules: CutRules, space: CutWorkspace) -> int:
    """Put the rows of a part in the order of a split's children, which begin at the places of space.ends; how many."""
    order_rows(j, rows, rules, space)
    parts = find_children(j, at, rules, space)
    for x in range(parts + 1):
        space.ends[x] = space.below[j, space.starts[x]]
    for i in range(len(rows)):
        space.moved[i] = rows[space.order[j, i]]
    for i in range(len(rows)):
        rows[i] = space.moved[i]
    return parts


@kernel
def _try_out(
    rows: IntArray, first: int, end: int, way: int, stack: IntArray, rules: CutRules, space: CutWorkspace, most: float
) -> float:
    """What the rows first..end-1 lose if the best split is taken at each part; beyond `most` it is not followed."""
    stack[0, 0], stack[0, 1], height, total = first, end, 1, 0.0
    while height > 0 and total < most:
        height -= 1
        start, stop = stack[height, 0], stack[height, 1]
        part = rows[start:stop]
        if not enter(part, rules, space) or find_splits(part, way, rules, space) == 0:
            total += lost_rows(stop - start, rules, space)
            continue
        parts = _divide(space.splits[0, 0], space.splits[0, 1], part, rules, space)
        for x in range(parts):
            stack[height, 0], stack[height, 1] = start + space.ends[x], start + space.ends[x + 1]
            height += 1
    return total


@kernel
def _choose(
    rows: IntArray, trial: IntArray, stack: IntArray, rules: CutRules, space: CutWorkspace, inner: CutWorkspace
) -> bool:
    """The split of a part into space.tried[0]: of those that each way finds, tried to the end, the one that loses
    least; whether there is one.
    """
    tried, ways, least = space.tried, len(rules.way.price), np.inf
    if not enter(rows, rules, space):
        return False
    for way in range(ways):
        if way > 0:
            enter(rows, rules, space)
        found = find_splits(rows, way, rules, space)
        for x in range(found):
            tried[x + 1, 0], tried[x + 1, 1] = space.splits[x, 0], space.splits[x, 1]
        for number in range(1, found + 1):
            total = 0.0
            if found > 1 or ways > 1:
                for i in range(len(rows)):
                    trial[i] = rows[i]
                parts = _divide(tried[number, 0], tried[number, 1], trial[: len(rows)], rules, space)
                for x in range(parts):
                    if total < least:
                        first, end = space.ends[x], space.ends[x + 1]
                        total += _try_out(trial, first, end, way, stack, rules, inner, least - total)
            if total < least:
                tried[0, 0], tried[0, 1], least = tried[number, 0], tried[number, 1], total
    return bool(least < np.inf)


@kernel
def _grow(
    rows: IntArray,
    trial: IntArray,
    stack: IntArray,
    other: IntArray,
    rules: CutRules,
    space: CutWorkspace,
    inner: CutWorkspace,
    tree: RegionCuts,
) -> int:
    """Grow the tree of `Cuts`; how many parts it has.

    Invariant: the parts on the stack and the regions divide the rows, each of them is a slice of these.
    """
    stack[0, 0], stack[0, 1], stack[0, 2], height, made = 0, len(rows), 0, 1, 1
    while height > 0:
        height -= 1
        start, end, me = stack[height, 0], stack[height, 1], stack[height, 2]
        part = rows[start:end]
        divided = _choose(part, trial, other, rules, space, inner)
        space.banned[:] = False
        if not divided:
            for row in part:
                tree.region[row] = me
            continue
        j, at = space.tried[0, 0], space.tried[0, 1]
        parts = _divide(j, at, part, rules, space)
        tree.quasi[me] = j
        for x in range(parts):
            tree.parent[made], tree.lo[made] = me, space.codes[j, space.starts[x]]
            tree.hi[made] = space.codes[j, space.starts[x + 1] - 1]
            stack[height, 0], stack[height, 1], stack[height, 2] = (
                start + space.ends[x],
                start + space.ends[x + 1],
                made,
            )
            height, made = height + 1, made + 1
    return made
