"""Aligned halves: of each bucket of cells, the half of its rows with the lower codes of a numeric quasi-identifier goes
left.
"""

from __future__ import annotations

from tclose_spark.kernels import kernel
from tclose_spark.kernels.sorting import sort_rows
from tclose_spark.kernels.widths import width
from tclose_spark.methods.closeness_tree.carve.node import TreeInputs, TreeNode, TreeWorkspace
from tclose_spark.methods.closeness_tree.carve.regions import binary_entropy
from tclose_spark.methods.closeness_tree.carve.score import count_sides, keep_better, rate, side_ratios
from tclose_spark.methods.closeness_tree.carve.trim import NEARLY
from tclose_spark.table.arrays import FloatArray, IntArray


@kernel
def order_cells(j: int, node: TreeNode, work: TreeWorkspace) -> None:
    """Set work.ordered[j], if it is not yet set for this node."""
    if work.is_ordered[j]:
        return
    sort_rows(j, node.rows[j, node.start : node.end], work.present, work.tally, work.order)
    for i in range(len(node.cell)):
        work.ordered[j, i] = node.cell[work.order[i]]
    work.is_ordered[j] = True


@kernel
def set_quotas(node: TreeNode, bucket: IntArray, work: TreeWorkspace) -> int:
    """Set work.quota to half the node's rows of each bucket, odd ones rounded up and down by turns; their sum. bucket:
    of every cell.
    """
    quota, below, size, odd = work.quota, work.present.below[len(work.ordered)], 0, 0
    quota[:] = 0
    for c in range(len(node.cells)):
        quota[bucket[node.cells[c]]] += below[c + 1] - below[c]
    for x in range(len(quota)):
        odd += quota[x] & 1
        quota[x] = quota[x] // 2 + (quota[x] & odd & 1)
        size += quota[x]
    return int(size)


@kernel
def halve(node: TreeNode, bucket: IntArray, work: TreeWorkspace) -> int:
    """Set work.left for the rows in the lower halves of their buckets by the order work.order; how many there are."""
    quota, size = work.quota, set_quotas(node, bucket, work)
    for i in work.order[: len(node.cell)]:
        x = bucket[node.cells[node.cell[i]]]
        work.left[i] = quota[x] > 0
        quota[x] -= quota[x] > 0
    return size


@kernel
def count_halves(
    j: int, node: TreeNode, bucket: IntArray, work: TreeWorkspace, part: FloatArray
) -> tuple[int, int, int]:
    """(rows in the lower halves of their buckets by their codes of j, their highest code, the lowest code of the
    others).

    part: becomes those rows by cell.
    """
    quota, size, taken, top, bottom = work.quota, set_quotas(node, bucket, work), 0, -1, -1
    cells, tally, codes, below = work.ordered[j], work.tally, work.present.codes[j], work.present.below[j]
    for x in range(work.present.length[j]):
        before = taken
        for i in range(below[x], below[x + 1]):
            c = cells[i]
            y = bucket[node.cells[c]]
            goes = int(quota[y] > 0)
            quota[y] -= goes
            tally[c] += goes
            taken += goes
        top = codes[x] if taken > before else top
        bottom = codes[x] if bottom < 0 and taken - before < below[x + 1] - below[x] else bottom
        if taken == size:
            bottom = codes[x + 1] if bottom < 0 else bottom
            break
    for c in range(len(part)):
        part[c] = tally[c]
        tally[c] = 0
    return size, top, bottom


@kernel
def try_halves(
    best: float, j: int, level: int, limit: float, node: TreeNode, inputs: TreeInputs, work: TreeWorkspace
) -> float:
    """The score of aligned halves of j if both are within the limit and it is above `best`, else `best`."""
    rows, part = node.end - node.start, work.part[: len(node.cells)]
    size, top, bottom = count_halves(j, node, inputs.buckets[level], work, part)
    if size < inputs.least or rows - size < inputs.least:
        return best
    codes, length = work.present.codes[j], work.present.length[j]
    lo, hi, p = codes[0], codes[length - 1], size / rows
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
    return keep_better(best, rate(gain, p, ratio_in, ratio_out, node.ratio, inputs.price), part, inputs, work)
