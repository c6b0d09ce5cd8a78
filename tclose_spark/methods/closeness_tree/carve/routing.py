"""Splits of a plan route rows by their hashes, as a `RoutingTree` does.

Copies of a row have one hash, so a routing tree leads all of them to the same side. A split that
only counted the rows that go left would not know which these are.
"""

from __future__ import annotations

from tclose_spark.kernels import kernel
from tclose_spark.methods.blocks.routing_tree import chance
from tclose_spark.methods.closeness_tree.carve.node import (
    HALVES,
    REGION,
    Split,
    TreeInputs,
    TreeNode,
    TreeWorkspace,
)
from tclose_spark.table.arrays import Codes, FloatArray, IntArray


@kernel
def route_left(
    me: int,
    least: int,
    split: Split,
    node: TreeNode,
    inputs: TreeInputs,
    work: TreeWorkspace,
) -> int:
    """Change work.left to the rows that a routing tree leads left at node `me`; how many, 0 if a
    side has fewer than `least`. It is expected that of each cell there are as many as before.

    Sets work.routed, too.
    """
    _find_cuts(split, node, work)
    _find_shares(split, node, work)
    routed = work.routed
    column = node.rows[split.j, node.start : node.end]
    number = node.rows[len(node.rows) - 1, node.start : node.end]
    size = 0
    for i in range(len(column)):
        c = node.cell[i]
        goes = column[i] < routed.cut[c]
        if may_go_left(column[i], routed.cut[c], split):
            goes = chance(inputs.hashes[number[i]], me) < routed.share[c]
        work.left[i] = goes
        size += goes
    return size if least <= size <= len(column) - least else 0


@kernel
def may_go_left(code: int, cut: int, split: Split) -> bool:
    """Whether a row with this code goes left by chance: at the cut of its cell or, without one, in
    the region.
    """
    return code == cut if cut >= 0 else split.first <= code <= split.last


@kernel
def middle_of(split: Split, node: TreeNode, work: TreeWorkspace) -> int:
    """The median of the node's codes that halves divide. work.order: its rows, sorted by them."""
    return int(node.rows[split.j, node.start + work.order[(node.end - node.start) // 2]])


@kernel
def _find_cuts(split: Split, node: TreeNode, work: TreeWorkspace) -> None:
    """Set the cut of each cell: of halves, the highest code that goes left, or the median if none
    does.
    """
    cut = work.routed.cut
    cut[:] = -1
    if split.kind != HALVES:
        return
    column = node.rows[split.j, node.start : node.end]
    for i in range(len(column)):
        if work.left[i]:
            cut[node.cell[i]] = max(cut[node.cell[i]], column[i])
    middle = middle_of(split, node, work)
    for c in range(len(node.cells)):
        if cut[c] < 0:
            cut[c] = middle


@kernel
def _find_shares(split: Split, node: TreeNode, work: TreeWorkspace) -> None:
    """Set the share of each cell: of its rows that may go left, those that do."""
    routed = work.routed
    column = node.rows[split.j, node.start : node.end]
    routed.rows[:] = 0
    routed.wanted[:] = 0
    for i in range(len(column)):
        c = node.cell[i]
        if may_go_left(column[i], routed.cut[c], split):
            routed.rows[c] += 1
            routed.wanted[c] += work.left[i]
    for c in range(len(node.cells)):
        routed.share[c] = routed.wanted[c] / max(routed.rows[c], 1)


@kernel
def find_shares_of_cells(
    split: Split,
    node: TreeNode,
    merged: IntArray,
    work: TreeWorkspace,
    cuts: Codes,
    shares: FloatArray,
) -> None:
    """Set the cut and the share of each cell of the requirement, from work.routed. A cell without
    rows that may go left is divided like all others together or, of halves, in two.

    merged: the goal's cell of each cell. cuts, shares: shape (cells,).
    """
    routed = work.routed
    cells = len(node.cells)
    cut = -1
    share = 0.5
    if split.kind == REGION:
        share = routed.wanted[:cells].sum() / routed.rows[:cells].sum()
    else:
        cut = middle_of(split, node, work)
    for place in range(cells):
        work.tally[node.cells[place]] = place + 1
    for c in range(len(merged)):
        place = work.tally[merged[c]] - 1
        cuts[c] = cut
        shares[c] = share
        if place >= 0:
            cuts[c] = routed.cut[place]
        if place >= 0 and routed.rows[place] > 0:
            shares[c] = routed.share[place]
    for place in range(cells):
        work.tally[node.cells[place]] = 0
