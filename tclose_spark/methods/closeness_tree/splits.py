"""Splits: a class that has become two classes' worth of rows is cut in two along a lexicographic order."""

from __future__ import annotations

from typing import Any

from tclose_spark.kernels import kernel
from tclose_spark.kernels.widths import width
from tclose_spark.methods.closeness_tree.boxes import ABOVE, BELOW
from tclose_spark.methods.closeness_tree.changes import count_class
from tclose_spark.methods.closeness_tree.extras import sum_nodes
from tclose_spark.methods.closeness_tree.loads import ANYTHING
from tclose_spark.methods.closeness_tree.partition import HIERARCHICAL, ORDERED, Partition, Table
from tclose_spark.methods.closeness_tree.sweeps import LEAST

MOST = 256  # rows of a class that is looked at


@kernel
def split_all(t: Table, p: Partition, order: Any) -> int:
    """Cut every class that can be cut with less loss, where it is least, so that both parts hold what is asked. Returns
    how many were cut.

    order: (n,). New classes take numbers that have no rows; where there are none left, no more are cut. The part that
    is cut off has no spare room.
    """
    free, cut = 0, 0
    for at in range(len(order)):
        p.rank[order[at]] = at
    for c in range(len(p.size)):
        if p.size[c] < 2 * t.k or p.size[c] > MOST or p.size[c] < 2:
            continue
        while free < len(p.size) and p.size[free] > 0:
            free += 1
        if free == len(p.size):
            break
        sort_members(p, c)
        best = best_cut(t, p, c, free)
        if best > 0:
            cut_off(t, p, c, free, best)
            cut += 1
        else:
            p.counts[free] = 0
            count_class(t, p, free)
    return cut


@kernel
def sort_members(p: Partition, c: int) -> None:
    """Put the members of class c in the order of p.rank (by insertion: classes are small)."""
    start = p.start[c]
    for at in range(1, p.size[c]):
        row, to = p.member[start + at], at
        while to > 0 and p.rank[p.member[start + to - 1]] > p.rank[row]:
            p.member[start + to] = p.member[start + to - 1]
            to -= 1
        p.member[start + to] = row
    for at in range(p.size[c]):
        p.place[p.member[start + at]] = at


@kernel
def best_cut(t: Table, p: Partition, c: int, free: int) -> int:
    """How many of the first members of class c are best cut off, 0 if none; uses the figures of the empty class `free`
    as work space.
    """
    size, start = p.size[c], p.start[c]
    empty_box(p, free)
    for at in range(size - 1, -1, -1):
        p.tail[at] = widen(t, p, free, p.member[start + at])
    empty_box(p, free)
    p.counts[free] = 0
    best, least = 0, size * p.width[c] - LEAST
    for at in range(size - t.k):
        row, rows = p.member[start + at], at + 1
        head = widen(t, p, free, row)
        for s in range(t.column.shape[1]):
            p.counts[free, t.column[t.cell[row], s]] += 1
        after = rows * head + (size - rows) * p.tail[rows]
        if rows >= t.k and after < least and both_hold(t, p, c, free, rows):
            best, least = rows, after
    return best


@kernel
def empty_box(p: Partition, c: int) -> None:
    """The box of no rows."""
    p.low[c] = ABOVE
    p.high[c] = BELOW
    p.wide[c] = 0.0


@kernel
def widen(t: Table, p: Partition, c: int, row: int) -> float:
    """Widen the box of class c for the row; returns its width."""
    total = 0.0
    for j in range(t.quasi.shape[1]):
        code = t.quasi[row, j]
        if code < p.low[c, j] or code > p.high[c, j]:
            p.low[c, j], p.high[c, j] = min(code, p.low[c, j]), max(code, p.high[c, j])
            p.wide[c, j] = width(j, p.low[c, j], p.high[c, j], t.kinds, t.missing, t.place, t.nodes, t.shares)
        total += p.wide[c, j]
    return total


@kernel
def both_hold(t: Table, p: Partition, c: int, part: int, rows: int) -> bool:
    """Whether the part of class c with the counts of class `part`, and the rest, hold what is asked. Leaves the figures
    of c as they are.
    """
    for s in range(t.column.shape[1]):
        reached = 0
        for v in range(t.first[s], t.first[s + 1]):
            reached = p.counts[part, v] + (reached if t.metric[s] == ORDERED else 0)
            p.extra[part, v] = t.n * reached - rows * t.expected[v]
    if not extras_hold(t, p, part, rows):
        return False
    give(p, c, part, -1)
    well = extras_hold(t, p, c, p.size[c] - rows)
    give(p, c, part, 1)
    return well


@kernel
def give(p: Partition, c: int, part: int, sign: int) -> None:
    """Add (sign 1) or take away (-1) the extras and counts of class `part` to those of c."""
    for v in range(p.extra.shape[1]):
        p.extra[c, v] += sign * p.extra[part, v]
        p.counts[c, v] += sign * p.counts[part, v]


@kernel
def extras_hold(t: Table, p: Partition, c: int, size: int) -> bool:
    """Whether a class of `size` rows with the extras and counts of class c holds what is asked, but for k."""
    for s in range(t.column.shape[1]):
        present, total = 0, 0
        for v in range(t.first[s], t.first[s + 1]):
            present += p.counts[c, v] > 0
            total += abs(p.extra[c, v])
        if present < t.distinct[s]:
            return False
        limit = t.limits[s, size]
        if limit != ANYTHING and (sum_nodes(t, p, c, s, 0) if t.metric[s] == HIERARCHICAL else total) > limit:
            return False
    return True


@kernel
def cut_off(t: Table, p: Partition, c: int, free: int, rows: int) -> None:
    """Make the first `rows` members of class c the class `free`, in the room where they are."""
    p.counts[free] = 0
    p.start[free], p.room[free], p.size[free] = p.start[c], rows, rows
    p.start[c], p.room[c], p.size[c] = p.start[c] + rows, p.room[c] - rows, p.size[c] - rows
    for at in range(p.start[free], p.start[free] + rows):
        row = p.member[at]
        p.of[row] = free
        for s in range(t.column.shape[1]):
            p.counts[free, t.column[t.cell[row], s]] += 1
    for at in range(p.size[c]):
        p.place[p.member[p.start[c] + at]] = at
    for v in range(p.counts.shape[1]):
        p.counts[c, v] -= p.counts[free, v]
    count_class(t, p, free)
    count_class(t, p, c)
