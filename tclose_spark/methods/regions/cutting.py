"""A block is cut into regions from the top down. Every part meets the requirement, so cutting may
stop anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.kernels.structures import structure
from tclose_spark.methods.regions.block import RegionBlock
from tclose_spark.methods.regions.children import divide
from tclose_spark.methods.regions.choice import examine, find_splits
from tclose_spark.methods.regions.trials import (
    SplitSearch,
    key_of,
    make_known,
    make_open,
    place_of,
    search_trials,
)
from tclose_spark.methods.regions.workspace import (
    SplitRule,
    make_inputs,
    make_workspace,
    split_rule,
)
from tclose_spark.table.arrays import IntArray


@structure
class RegionCuts(NamedTuple):
    """A tree of parts. Part 0 is the whole block, and a part comes before those that it is divided
    into.
    """

    quasi: (
        IntArray  # the quasi-identifier that a part is divided by, -1 for a region, shape (parts,)
    )
    parent: IntArray  # the part that it comes from, -1 if none, shape (parts,)
    lo: IntArray  # its lowest code of the quasi-identifier that its parent is divided by, shape (parts,)
    hi: IntArray  # its highest code of it, shape (parts,)
    region: IntArray  # the part of each row, shape (n,)


@dataclass(frozen=True)
class RegionGrowth:
    """rule: how a part is split.
    budget: the work of a search for splits that lose little, in rows to be examined for each row of
        the block; with 0 each part takes the split with the best score.
    """

    rule: SplitRule
    budget: int = 0


AT_MEDIANS = RegionGrowth(split_rule(cuts=0, tries=8, each=1), budget=7)
"""Each part is cut at the median of one of its quasi-identifiers, as in Mondrian."""


def cut(
    block: RegionBlock,
    growth: RegionGrowth,
    avoided: Sequence[int] | IntArray = (),
) -> RegionCuts:
    """The regions of a block that meets the requirement. No two of their labels meet. They depend
    only on the rows as a multiset.

    avoided: quasi-identifiers by which the whole block is not divided.
    """
    n = len(block.cell)
    quasi, parent, lo, hi = np.full((4, 2 * n + 1), -1, dtype=np.int64)
    region = np.zeros(n, dtype=np.int64)
    stack = np.zeros((n + 1, 3), dtype=np.int64)
    work = make_workspace(block, growth.rule)
    work.banned[list(avoided)] = True
    search = SplitSearch(
        inputs=make_inputs(block, growth.rule),
        work=work,
        known=make_known(n, block.requirement.k, growth.budget),
        parts=make_open(n, block.requirement.k, growth.rule.tries),
    )
    tree = RegionCuts(quasi, parent, lo, hi, region)
    made = _grow(np.arange(n), float(growth.budget), stack, search, tree)
    return RegionCuts(quasi[:made], parent[:made], lo[:made], hi[:made], region)


@kernel
def _choose(part: IntArray, budget: float, search: SplitSearch) -> int:
    """Which of work.splits divides a part, -1 if none: the best one found, or else the one with the
    best score.
    """
    inputs = search.inputs
    work = search.work
    known = search.known
    if budget > 0:
        search_trials(part, budget * len(part), search)
    if not examine(part, inputs, work) or find_splits(part, inputs, work) == 0:
        return -1
    key = key_of(part, inputs)
    place = place_of(key, known)
    return int(known.choice[place]) if known.key[place] == key else 0


@kernel
def _grow(
    rows: IntArray,
    budget: float,
    stack: IntArray,
    search: SplitSearch,
    tree: RegionCuts,
) -> int:
    """Grow the tree; how many parts it has.

    Invariant: the parts on the stack and the regions are slices of the rows, and together are all
        rows.
    """
    work = search.work
    stack[0, 0] = 0
    stack[0, 1] = len(rows)
    stack[0, 2] = 0
    height = 1
    made = 1
    while height > 0:
        height -= 1
        start = stack[height, 0]
        end = stack[height, 1]
        me = stack[height, 2]
        part = rows[start:end]
        split = _choose(part, budget, search)
        if split < 0:
            for row in part:
                tree.region[row] = me
            continue
        j = work.splits[split, 0]
        at = work.splits[split, 1]
        children = divide(j, at, part, search.inputs, work)
        tree.quasi[me] = j
        for x in range(children):
            tree.parent[made] = me
            tree.lo[made] = work.present.codes[j, work.starts[x]]
            tree.hi[made] = work.present.codes[j, work.starts[x + 1] - 1]
            stack[height, 0] = start + work.ends[x]
            stack[height, 1] = start + work.ends[x + 1]
            stack[height, 2] = made
            height = height + 1
            made = made + 1
    return made
