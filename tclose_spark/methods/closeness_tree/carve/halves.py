"""Aligned halves: of each cell, the half of its rows with the lower codes of a numeric quasi-identifier
goes left. The rows of a node are counted by the codes of a quasi-identifier and by cell: a table or,
of few rows, the rows in order.
"""

from __future__ import annotations

from tclose_spark.kernels import kernel
from tclose_spark.kernels.sorting import sort_rows
from tclose_spark.kernels.widths import width
from tclose_spark.methods.closeness_tree.carve.goal import Goal, worst
from tclose_spark.methods.closeness_tree.carve.node import TreeInputs, TreeNode, TreeWorkspace
from tclose_spark.methods.closeness_tree.carve.regions import binary_entropy
from tclose_spark.methods.closeness_tree.carve.trim import NEARLY
from tclose_spark.table.arrays import FloatArray, IntArray

TABLED = 2  # rows that a node has for each entry of a table, at least


@kernel
def tabulate(j: int, node: TreeNode, work: TreeWorkspace) -> bool:
    """Set work.tables[j] or work.ordered[j], if it is not yet set for this node; whether it is the
    table.
    """
    cells = len(node.cells)
    length = work.present.length[j]
    codes = work.present.codes[j]
    tally = work.tally
    column = node.rows[j, node.start : node.end]
    table = work.tables[j]
    is_table = bool(TABLED * (length + 1) * cells <= len(column))
    if work.is_counted[j]:
        return is_table
    work.is_counted[j] = True
    if not is_table:
        sort_rows(j, column, work.present, tally, work.order)
        for i in range(len(column)):
            work.ordered[j, i] = node.cell[work.order[i]]
        return False
    for at in range((length + 1) * cells):
        table[at] = 0
    for x in range(length):
        tally[codes[x]] = (x + 1) * cells
    for i in range(len(column)):
        table[tally[column[i]] + node.cell[i]] += 1
    for x in range(length):
        tally[codes[x]] = 0
    for at in range(cells, (length + 1) * cells):
        table[at] += table[at - cells]
    return True


@kernel
def count_region(
    j: int,
    a: int,
    b: int,
    node: TreeNode,
    work: TreeWorkspace,
    part: FloatArray,
) -> None:
    """Set part to the rows by cell with present codes a..b of j."""
    if tabulate(j, node, work):
        cells = len(part)
        table = work.tables[j]
        for c in range(cells):
            part[c] = table[(b + 1) * cells + c] - table[a * cells + c]
    else:
        _count_ordered(j, a, b, node.end - node.start, work, part)


@kernel
def _count_ordered(
    j: int,
    a: int,
    b: int,
    rows: int,
    work: TreeWorkspace,
    part: FloatArray,
) -> None:
    """`count_region` by work.ordered. These or the other rows are counted, whichever are fewer."""
    below = work.present.below
    q = len(work.ordered)
    start = below[j, a]
    end = below[j, b + 1]
    cells = work.ordered[j]
    tally = work.tally
    if 2 * (end - start) <= rows:
        for i in range(start, end):
            tally[cells[i]] += 1
    else:
        for c in range(len(part)):
            tally[c] = below[q, c + 1] - below[q, c]
        for i in range(start):
            tally[cells[i]] -= 1
        for i in range(end, rows):
            tally[cells[i]] -= 1
    for c in range(len(part)):
        part[c] = tally[c]
        tally[c] = 0


@kernel
def count_sides(part: FloatArray, node: TreeNode, inputs: TreeInputs, work: TreeWorkspace) -> None:
    """Set work.inside and work.outside to the rows by value of a part and of the rest. part: its
    rows by cell.
    """
    cells = node.cells
    codes = inputs.goal.codes
    inside = work.inside
    outside = work.outside
    inside[:] = 0.0
    for c in range(len(cells)):
        if part[c] != 0.0:
            for s in range(codes.shape[1]):
                inside[s, codes[cells[c], s]] += part[c]
    for s in range(inside.shape[0]):
        for v in range(inside.shape[1]):
            outside[s, v] = work.whole[s, v] - inside[s, v]


@kernel
def side_ratios(size: float, rows: float, goal: Goal, work: TreeWorkspace) -> tuple[float, float]:
    """The closeness ratios of a part of `size` of `rows` rows and of the rest, by work.inside and
    work.outside.
    """
    inside, _ = worst(work.inside, size, goal, work.scratch)
    outside, _ = worst(work.outside, rows - size, goal, work.scratch)
    return inside, outside


@kernel
def is_diverse(values: FloatArray, domains: IntArray, distinct: IntArray) -> bool:
    """Whether every attribute has as many values as required. values: rows by value (or bin),
    (attributes, values).
    """
    for s in range(len(distinct)):
        present = 0
        for v in range(domains[s]):
            present += values[s, v] > 0.0
            if present >= distinct[s]:
                break
        if present < distinct[s]:
            return False
    return True


@kernel
def rate(
    gain: float,
    p: float,
    inside: float,
    outside: float,
    before: float,
    price: float,
) -> float:
    """The score of a split: width gained, divided by its bits and the price of the closeness ratio
    that it adds.
    """
    return gain / (binary_entropy(p) + price * max(0.0, p * inside + (1.0 - p) * outside - before))


@kernel
def keep_better(
    best: float,
    score: float,
    part: FloatArray,
    inputs: TreeInputs,
    work: TreeWorkspace,
) -> float:
    """The higher of the two scores. If it is `score`, and both sides are diverse, work.take becomes
    the part.
    """
    if score <= best or not (
        is_diverse(work.inside, inputs.goal.domains, inputs.requirement.distinct)
        and is_diverse(work.outside, inputs.goal.domains, inputs.requirement.distinct)
    ):
        return best
    for c in range(len(part)):
        work.take[c] = part[c]
    return score


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
