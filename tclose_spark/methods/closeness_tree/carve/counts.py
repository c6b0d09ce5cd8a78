"""The rows of a node by the codes of a quasi-identifier and by cell: a table or, of few rows, the
rows in order.
"""

from __future__ import annotations

from tclose_spark.kernels import kernel
from tclose_spark.kernels.sorting import sort_rows
from tclose_spark.methods.closeness_tree.carve.node import TreeNode, TreeWorkspace
from tclose_spark.table.arrays import FloatArray

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
