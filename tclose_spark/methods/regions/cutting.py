"""A block is cut into regions from the top down. Every part meets the requirement, so cutting may stop anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.kernels.structures import structure
from tclose_spark.methods.regions.block import RegionBlock
from tclose_spark.methods.regions.children import find_children, order_rows
from tclose_spark.methods.regions.choice import examine, find_splits, lost_rows
from tclose_spark.methods.regions.workspace import CutInputs, CutWorkspace, SplitRule, make_inputs, make_workspace
from tclose_spark.table.arrays import IntArray


@structure
class RegionCuts(NamedTuple):
    """A tree of parts. Part 0 is the whole block, and a part comes before those that it is divided into."""

    quasi: IntArray  # the quasi-identifier that a part is divided by, -1 for a region, shape (parts,)
    parent: IntArray  # the part that it comes from, -1 if none, shape (parts,)
    lo: IntArray  # its lowest code of the quasi-identifier that its parent is divided by, shape (parts,)
    hi: IntArray  # its highest code of it, shape (parts,)
    region: IntArray  # the part of each row, shape (n,)


@dataclass(frozen=True)
class RegionGrowth:
    """rule: how a part is split.
    pilots: how many of the best splits of a part are tried, each followed to the end by the best splits; the one that
        loses least is taken.
    """

    rule: SplitRule
    pilots: int = 1


def cut(block: RegionBlock, growth: RegionGrowth, avoided: Sequence[int] | IntArray = ()) -> RegionCuts:
    """The regions of a block that meets the requirement. No two of their labels meet. They depend only on the rows as a
    multiset.

    avoided: quasi-identifiers by which the whole block is not divided.
    """
    n = len(block.cell)
    quasi, parent, lo, hi = np.full((4, 2 * n + 1), -1, dtype=np.int64)
    region, rows, trial = np.zeros(n, dtype=np.int64), np.arange(n), np.zeros(n, dtype=np.int64)
    stack, other = np.zeros((2, n + 1, 3), dtype=np.int64)
    work, inputs = make_workspace(block, growth.pilots), make_inputs(block, growth.rule)
    work.banned[list(avoided)] = True
    tree = RegionCuts(quasi, parent, lo, hi, region)
    made = _grow(rows, trial, stack, other, inputs, work, make_workspace(block, 1), tree)
    return RegionCuts(quasi[:made], parent[:made], lo[:made], hi[:made], region)


def first_splits(block: RegionBlock, growth: RegionGrowth) -> list[list[IntArray]]:
    """The best splits of a whole block by each scoring, each as arrays of the places of its children's rows."""
    n, known = len(block.cell), dict[tuple[int, int], None]()
    work, inputs = make_workspace(block, growth.pilots), make_inputs(block, growth.rule)
    for scoring in range(len(growth.rule.price)):
        found = find_splits(np.arange(n), scoring, inputs, work) if examine(np.arange(n), inputs, work) else 0
        known |= dict.fromkeys((int(j), int(at)) for j, at in work.splits[:found])
    splits = []
    for j, at in known:
        rows = np.arange(n)
        parts = _divide(j, at, rows, inputs, work)
        splits.append(np.split(rows, work.ends[1:parts]))
    return splits


@kernel
def _divide(j: int, at: int, rows: IntArray, inputs: CutInputs, work: CutWorkspace) -> int:
    """Sort the rows of a part by a split's children and set work.ends; how many children there are."""
    order_rows(j, rows, inputs, work)
    parts = find_children(j, at, inputs, work)
    for x in range(parts + 1):
        work.ends[x] = work.present.below[j, work.starts[x]]
    for i in range(len(rows)):
        work.moved[i] = rows[work.order[j, i]]
    for i in range(len(rows)):
        rows[i] = work.moved[i]
    return parts


@kernel
def _try_out(
    rows: IntArray,
    first: int,
    end: int,
    scoring: int,
    stack: IntArray,
    inputs: CutInputs,
    work: CutWorkspace,
    most: float,
) -> float:
    """The loss of the rows first..end-1 if the best split is taken at each part. It is followed up to a loss of
    `most`.
    """
    stack[0, 0], stack[0, 1], height, total = first, end, 1, 0.0
    while height > 0 and total < most:
        height -= 1
        start, stop = stack[height, 0], stack[height, 1]
        part = rows[start:stop]
        if not examine(part, inputs, work) or find_splits(part, scoring, inputs, work) == 0:
            total += lost_rows(stop - start, inputs, work)
            continue
        parts = _divide(work.splits[0, 0], work.splits[0, 1], part, inputs, work)
        for x in range(parts):
            stack[height, 0], stack[height, 1] = start + work.ends[x], start + work.ends[x + 1]
            height += 1
    return total


@kernel
def _choose(
    rows: IntArray, trial: IntArray, stack: IntArray, inputs: CutInputs, work: CutWorkspace, inner: CutWorkspace
) -> bool:
    """Set work.candidates[0] to the best split of a part; whether there is one. The splits of all scorings are followed
    to the end, and the one that loses least is the best.
    """
    candidates, scorings, least = work.candidates, len(inputs.rule.price), np.inf
    if not examine(rows, inputs, work):
        return False
    for scoring in range(scorings):
        if scoring > 0:
            examine(rows, inputs, work)
        found = find_splits(rows, scoring, inputs, work)
        for x in range(found):
            candidates[x + 1, 0], candidates[x + 1, 1] = work.splits[x, 0], work.splits[x, 1]
        for number in range(1, found + 1):
            total = 0.0
            if found > 1 or scorings > 1:
                for i in range(len(rows)):
                    trial[i] = rows[i]
                parts = _divide(candidates[number, 0], candidates[number, 1], trial[: len(rows)], inputs, work)
                for x in range(parts):
                    if total < least:
                        first, end = work.ends[x], work.ends[x + 1]
                        total += _try_out(trial, first, end, scoring, stack, inputs, inner, least - total)
            if total < least:
                candidates[0, 0], candidates[0, 1], least = candidates[number, 0], candidates[number, 1], total
    return bool(least < np.inf)


@kernel
def _grow(
    rows: IntArray,
    trial: IntArray,
    stack: IntArray,
    other: IntArray,
    inputs: CutInputs,
    work: CutWorkspace,
    inner: CutWorkspace,
    tree: RegionCuts,
) -> int:
    """Grow the tree; how many parts it has.

    Invariant: the parts on the stack and the regions are slices of the rows, and together are all rows.
    """
    stack[0, 0], stack[0, 1], stack[0, 2], height, made = 0, len(rows), 0, 1, 1
    while height > 0:
        height -= 1
        start, end, me = stack[height, 0], stack[height, 1], stack[height, 2]
        part = rows[start:end]
        divided = _choose(part, trial, other, inputs, work, inner)
        work.banned[:] = False
        if not divided:
            for row in part:
                tree.region[row] = me
            continue
        j, at = work.candidates[0, 0], work.candidates[0, 1]
        parts = _divide(j, at, part, inputs, work)
        tree.quasi[me] = j
        for x in range(parts):
            tree.parent[made], tree.lo[made] = me, work.present.codes[j, work.starts[x]]
            tree.hi[made] = work.present.codes[j, work.starts[x + 1] - 1]
            stack[height, 0], stack[height, 1], stack[height, 2] = (
                start + work.ends[x],
                start + work.ends[x + 1],
                made,
            )
            height, made = height + 1, made + 1
    return made
