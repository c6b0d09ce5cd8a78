"""Changes of a partition: a row moves, two rows swap places. Each keeps every figure right (see
`partition.Partition`).
"""

from __future__ import annotations

from tclose_spark.kernels import kernel
from tclose_spark.kernels.widths import width
from tclose_spark.methods.closeness_tree.boxes import change_box, scan
from tclose_spark.methods.closeness_tree.extras import change_extras
from tclose_spark.methods.closeness_tree.partition import HIERARCHICAL, ORDERED, Partition, Table


@kernel
def count_all(t: Table, p: Partition) -> None:
    """Every figure of the partition, counted from p.of alone."""
    p.size[:] = 0
    for row in range(len(p.of)):
        p.size[p.of[row]] += 1
    reserve(p)
    p.size[:] = 0
    p.extra[:] = 0
    p.counts[:] = 0
    p.present[:] = 0
    for row in range(len(p.of)):
        c = p.of[row]
        put(p, row, c)
        for s in range(t.column.shape[1]):
            p.counts[c, t.column[t.cell[row], s]] += 1
    for c in range(len(p.size)):
        count_class(t, p, c)


@kernel
def count_class(t: Table, p: Partition, c: int) -> None:
    """The figures of one class, from its members and counts by value."""
    p.fresh[:, c] = False
    for j in range(t.quasi.shape[1]):
        scan(t, p, c, j)
        p.wide[c, j] = (
            0.0
            if p.size[c] == 0
            else width(j, p.low[c, j], p.high[c, j], t.kinds, t.missing, t.place, t.nodes, t.shares)
        )
    p.width[c] = p.wide[c].sum()
    for s in range(t.column.shape[1]):
        reached, total, present = 0, 0, 0
        for v in range(t.first[s], t.first[s + 1]):
            reached = p.counts[c, v] + (reached if t.metric[s] == ORDERED else 0)
            p.extra[c, v] = t.n * reached - p.size[c] * t.expected[v]
            present += p.counts[c, v] > 0
            total += abs(p.extra[c, v])
        p.present[c, s] = present
        p.total[c, s] = total if t.metric[s] != HIERARCHICAL else 0


@kernel
def reserve(p: Partition) -> None:
    """Give each class room for half as many rows more, and some. Members are to be put in again."""
    at = 0
    for c in range(len(p.size)):
        p.start[c], p.room[c] = at, p.size[c] + p.size[c] // 2 + 8
        at += p.room[c]


@kernel
def repack(p: Partition) -> None:
    """Room as `reserve` gives it, members in the order that they had."""
    for at in range(len(p.member)):
        p.old[at] = p.member[at]
    for c in range(len(p.start)):
        p.old_start[c] = p.start[c]
    reserve(p)
    for c in range(len(p.size)):
        for at in range(p.size[c]):
            p.member[p.start[c] + at] = p.old[p.old_start[c] + at]


@kernel
def put(p: Partition, row: int, c: int) -> None:
    """Make the row the last member of class c, which has room."""
    p.member[p.start[c] + p.size[c]] = row
    p.place[row] = p.size[c]
    p.size[c] += 1
    p.of[row] = c


@kernel
def move(t: Table, p: Partition, row: int, to: int) -> None:
    """Move a row to another class, which has room."""
    c, cell = p.of[row], t.cell[row]
    last = p.member[p.start[c] + p.size[c] - 1]
    p.member[p.start[c] + p.place[row]] = last
    p.place[last] = p.place[row]
    p.size[c] -= 1
    put(p, row, to)
    change_box(t, p, c, row, -1)
    change_box(t, p, to, -1, row)
    change_extras(t, p, c, cell, -1)
    change_extras(t, p, to, cell, 1)


@kernel
def swap(t: Table, p: Partition, row: int, other: int) -> None:
    """Two rows of different classes change places."""
    c, d = p.of[row], p.of[other]
    p.member[p.start[c] + p.place[row]], p.member[p.start[d] + p.place[other]] = other, row
    p.place[row], p.place[other] = p.place[other], p.place[row]
    p.of[row], p.of[other] = d, c
    change_box(t, p, c, row, other)
    change_box(t, p, d, other, row)
    if t.cell[row] != t.cell[other]:
        change_extras(t, p, c, t.cell[row], -1)
        change_extras(t, p, c, t.cell[other], 1)
        change_extras(t, p, d, t.cell[other], -1)
        change_extras(t, p, d, t.cell[row], 1)


@kernel
def loss(p: Partition) -> float:
    """What the classes cost: rows times width, summed. The NCP is this by rows and quasi-identifiers."""
    total = 0.0
    for c in range(len(p.size)):
        total += p.size[c] * p.width[c]
    return total
