"""Aligned halves: of each cell, the half of its rows with the lower codes of a numeric
quasi-identifier goes left.
"""

from __future__ import annotations

from tclose_spark.kernels import kernel
from tclose_spark.kernels.widths import width
from tclose_spark.methods.closeness_tree.carve.counts import tabulate
from tclose_spark.methods.closeness_tree.carve.node import TreeInputs, TreeNode, TreeWorkspace
from tclose_spark.methods.closeness_tree.carve.regions import binary_entropy
from tclose_spark.methods.closeness_tree.carve.score import (
    count_sides,
    keep_better,
    rate,
    side_ratios,
)
from tclose_spark.methods.closeness_tree.carve.trim import NEARLY
from tclose_spark.table.arrays import FloatArray


@kernel
def set_quotas(node: TreeNode, work: TreeWorkspace) -> int:
    """Set work.quota to half the node's rows of each cell, odd ones rounded up and down by turns;
    their sum.
    """
    quota = work.quota
    below = work.present.below[len(work.ordered)]
    size = 0
    odd = 0
    for c in range(len(node.cells)):
        rows = below[c + 1] - below[c]
        odd += rows & 1
        quota[c] = rows // 2 + (rows & odd & 1)
        size += quota[c]
    return int(size)


@kernel
def halve(node: TreeNode, work: TreeWorkspace) -> int:
    """Set work.left for the rows in the lower halves of their cells by the order work.order; how
    many there are.
    """
    quota = work.quota
    size = set_quotas(node, work)
    for i in work.order[: len(node.cell)]:
        c = node.cell[i]
        work.left[i] = quota[c] > 0
        quota[c] -= quota[c] > 0
    return size


@kernel
def count_halves(
    j: int,
    node: TreeNode,
    work: TreeWorkspace,
    part: FloatArray,
) -> tuple[int, int, int]:
    """(rows in the lower halves of their cells by their codes of j, their highest code, the lowest
    code of the others).

    part: becomes those rows by cell.
    """
    is_table = tabulate(j, node, work)
    quota = work.quota
    size = set_quotas(node, work)
    taken = 0
    top = -1
    bottom = -1
    for c in range(len(part)):
        part[c] = quota[c]
    cells = work.ordered[j]
    table = work.tables[j]
    codes = work.present.codes[j]
    below = work.present.below[j]
    for x in range(work.present.length[j]):
        before = taken
        if is_table:
            for at in range((x + 1) * len(part), (x + 2) * len(part)):
                c = at - (x + 1) * len(part)
                goes = min(quota[c], table[at] - table[at - len(part)])
                quota[c] -= goes
                taken += goes
        else:
            for c in cells[below[x] : below[x + 1]]:
                goes = int(quota[c] > 0)
                quota[c] -= goes
                taken += goes
        top = codes[x] if taken > before else top
        bottom = codes[x] if bottom < 0 and taken - before < below[x + 1] - below[x] else bottom
        if taken == size:
            bottom = codes[x + 1] if bottom < 0 else bottom
            break
    return size, top, bottom


@kernel
def try_halves(
    best: float,
    j: int,
    limit: float,
    node: TreeNode,
    inputs: TreeInputs,
    work: TreeWorkspace,
) -> float:
    """The score of aligned halves of j if both are within the limit and it is above `best`, else
    `best`.
    """
    rows = node.end - node.start
    part = work.part[: len(node.cells)]
    size, top, bottom = count_halves(j, node, work, part)
    if size < inputs.least or rows - size < inputs.least:
        return best
    codes = work.present.codes[j]
    length = work.present.length[j]
    lo = codes[0]
    hi = codes[length - 1]
    p = size / rows
    gain = (
        width(j, lo, hi, inputs.widths)
        - p * width(j, lo, top, inputs.widths)
        - (1.0 - p) * width(j, bottom, hi, inputs.widths)
    )
    if gain <= best * binary_entropy(p):
        return best
    count_sides(part, node, inputs, work)
    ratio_in, ratio_out = side_ratios(float(size), float(rows), inputs.goal, work)
    if max(ratio_in, ratio_out) > limit * NEARLY:
        return best
    return keep_better(
        best,
        rate(gain, p, ratio_in, ratio_out, node.ratio, inputs.price),
        part,
        inputs,
        work,
    )
