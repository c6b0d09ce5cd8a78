"""Splits: a class with enough rows for two is cut in two along a lexicographic order."""

from __future__ import annotations

from tclose_spark.kernels import kernel
from tclose_spark.kernels.widths import width
from tclose_spark.methods.blocks.block import ANYTHING
from tclose_spark.methods.closeness_tree.exchange.boxes import ABOVE, BELOW
from tclose_spark.methods.closeness_tree.exchange.changes import count_class
from tclose_spark.methods.closeness_tree.exchange.counts import (
    add_row,
    remove_all,
    values_without,
    within_caps,
)
from tclose_spark.methods.closeness_tree.exchange.distances import holds, measure, numerator_of_two
from tclose_spark.methods.closeness_tree.exchange.partition import Partition, Table, rank_rows
from tclose_spark.methods.closeness_tree.exchange.sweeps import LEAST
from tclose_spark.table.arrays import Codes

MOST = 256  # rows of a class that may be split


@kernel
def split_all(table: Table, partition: Partition, order: Codes) -> int:
    """Cut every class in two parts that meet the requirement if that lowers the loss, where it is
    lowest. Returns how many were cut.

    order: shape (n,). New classes take the numbers of classes without rows; if none are left, no
        more are cut. The part that is cut off has no spare room.
    """
    free = 0
    cut = 0
    rank_rows(partition, order)
    for c in range(len(partition.size)):
        if (
            partition.size[c] < 2 * table.requirement.k
            or partition.size[c] > MOST
            or partition.size[c] < 2
        ):
            continue
        while free < len(partition.size) and partition.size[free] > 0:
            free += 1
        if free == len(partition.size):
            break
        sort_members(partition, c)
        best = best_cut(table, partition, c, free)
        if best > 0:
            cut_off(table, partition, c, free, best)
            cut += 1
        else:
            count_class(table, partition, free)
    return cut


@kernel
def sort_members(partition: Partition, c: int) -> None:
    """Sort the members of class c by partition.rank (by insertion: classes are small)."""
    start = partition.start[c]
    for at in range(1, partition.size[c]):
        row = partition.member[start + at]
        to = at
        while to > 0 and partition.rank[partition.member[start + to - 1]] > partition.rank[row]:
            partition.member[start + to] = partition.member[start + to - 1]
            to -= 1
        partition.member[start + to] = row
    for at in range(partition.size[c]):
        partition.place[partition.member[start + at]] = at


@kernel
def best_cut(table: Table, partition: Partition, c: int, free: int) -> int:
    """How many of the first members of class c are best cut off, 0 if none. The figures of the
    empty class `free` are used to work in.
    """
    size = partition.size[c]
    start = partition.start[c]
    empty_box(partition, free)
    for at in range(size - 1, -1, -1):
        partition.tail[at] = widen(table, partition, free, partition.member[start + at])
    empty_box(partition, free)
    remove_all(table, partition, free)
    best = 0
    least = size * partition.width[c] - LEAST
    for at in range(size - table.requirement.k):
        row = partition.member[start + at]
        rows = at + 1
        head = widen(table, partition, free, row)
        add_row(table, partition, free, table.cell[row])
        after = rows * head + (size - rows) * partition.tail[rows]
        if (
            rows >= table.requirement.k
            and after < least
            and both_hold(table, partition, c, free, rows)
        ):
            best = rows
            least = after
    return best


@kernel
def empty_box(partition: Partition, c: int) -> None:
    """The box of no rows."""
    partition.low[c] = ABOVE
    partition.high[c] = BELOW
    partition.wide[c] = 0.0


@kernel
def widen(table: Table, partition: Partition, c: int, row: int) -> float:
    """Widen the box of class c for the row; returns its width."""
    total = 0.0
    for j in range(table.quasi.shape[1]):
        code = table.quasi[row, j]
        if code < partition.low[c, j] or code > partition.high[c, j]:
            partition.low[c, j], partition.high[c, j] = (
                min(code, partition.low[c, j]),
                max(code, partition.high[c, j]),
            )
            partition.wide[c, j] = width(j, partition.low[c, j], partition.high[c, j], table.widths)
        total += partition.wide[c, j]
    return total


@kernel
def both_hold(table: Table, partition: Partition, c: int, part: int, rows: int) -> bool:
    """Whether the first `rows` rows of class c, with the counts of class `part`, and the others
    meet the requirement. Both have k rows.
    """
    measure(table, partition, part, rows)
    if not holds(table, partition, part, rows):
        return False
    rest = partition.size[c] - rows
    for s in range(table.column.shape[1]):
        distinct = table.requirement.distinct[s]
        limits = table.requirement.limits[s]
        if distinct > 1 and values_without(table, partition, c, part, s) < distinct:
            return False
        if not within_caps(table, partition, c, part, -1, s, rest):
            return False
        if (
            limits[rest] != ANYTHING
            and numerator_of_two(table, partition, c, part, -1, s, rest) > limits[rest]
        ):
            return False
    return True


@kernel
def cut_off(table: Table, partition: Partition, c: int, free: int, rows: int) -> None:
    """Make the first `rows` members of class c the class `free`, without moving them."""
    partition.start[free] = partition.start[c]
    partition.room[free] = rows
    partition.size[free] = rows
    partition.start[c], partition.room[c], partition.size[c] = (
        partition.start[c] + rows,
        partition.room[c] - rows,
        partition.size[c] - rows,
    )
    for at in range(partition.start[free], partition.start[free] + rows):
        partition.of[partition.member[at]] = free
    for at in range(partition.size[c]):
        partition.place[partition.member[partition.start[c] + at]] = at
    for s in range(table.column.shape[1]):
        partition.weight[free, s] = partition.weight[c, s]
    count_class(table, partition, free)
    count_class(table, partition, c)
