"""Ordered distances of a class: by its cumulative excess.

Let C_v be the rows of a class of s rows with the value v or a lower one, and X_v those of the table
of n. The excess is n C_v - s X_v, and the numerator is the sum of |excesses| (see
`measures.distances`). When a row joins (sign +1) or leaves (-1), every excess changes by -sign X_v,
and from the row's value on also by sign n. So one pass over the excesses, with a correction for
each value, gives the new numerator for every value.
"""

from __future__ import annotations

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.methods.closeness_tree.exchange.partition import JOIN, Partition, Table


@kernel
def measure_excess(table: Table, partition: Partition, c: int, s: int, size: int) -> None:
    """Set partition.excess[c] and partition.total[c] of attribute s from the counts of class c, of
    `size` rows.
    """
    reached, total = 0, 0
    for v in range(table.first[s], table.first[s + 1]):
        reached += partition.counts[c, v]
        partition.excess[c, v] = table.requirement.rows * reached - size * table.expected[v]
        total += abs(partition.excess[c, v])
    partition.total[c, s] = total


@kernel
def change_excess(table: Table, partition: Partition, c: int, s: int, own: int, sign: int) -> None:
    """Update class c after a row in column `own` joined (sign +1) or left it (-1)."""
    first, last = table.first[s], table.first[s + 1]
    excess, expected = partition.excess[c, first:last], table.expected[first:last]
    total, rows, own = 0, table.requirement.rows, own - first
    for v in range(len(excess)):
        changed = excess[v] + sign * ((rows if v >= own else 0) - expected[v])
        excess[v] = changed
        total += abs(changed)
    partition.total[c, s] = total


@kernel
def excess_after_swap(table: Table, partition: Partition, c: int, out: int, into: int) -> int:
    """How much the numerator of class c rises if a row in column `out` gives way to one in
    `into`.
    """
    rise, change = 0, -table.requirement.rows if out < into else table.requirement.rows
    for excess in partition.excess[c, min(out, into) : max(out, into)]:
        rise += abs(excess + change) - abs(excess)
    return int(rise)


@kernel
def swap_excess(table: Table, partition: Partition, c: int, s: int, out: int, into: int) -> None:
    """Update class c after a row in column `out` gave way to one in `into`."""
    partition.total[c, s] += excess_after_swap(table, partition, c, out, into)
    change = -table.requirement.rows if out < into else table.requirement.rows
    for v in range(min(out, into), max(out, into)):
        partition.excess[c, v] += change


@kernel
def excess_of_two(table: Table, partition: Partition, c: int, d: int, sign: int, s: int) -> int:
    """The numerator of the rows of class c with (sign 1) or without (-1) those of class d, from
    their excesses.
    """
    first, last, total = table.first[s], table.first[s + 1], 0
    excess, other = partition.excess[c, first:last], partition.excess[d, first:last]
    for v in range(len(excess)):
        total += abs(excess[v] + sign * other[v])
    return int(total)


@kernel
def update_rises(table: Table, partition: Partition, side: int, c: int, s: int, size: int) -> None:
    """Set partition.rises[side, c] for the values of attribute s, if class c then has `size` rows.

    Invariant of the second pass: `after` includes the own changes of the values from v on.
    """
    partition.fresh[side, c, s] = True
    first, last = table.first[s], table.first[s + 1]
    excess = partition.excess[c, first:last]
    expected = table.expected[first:last]
    rises = partition.rises[side, c]
    sign, after, limit = 1 if side == JOIN else -1, 0, table.requirement.limits[s, size]
    change = sign * table.requirement.rows
    for v in range(len(excess)):
        after += abs(excess[v] - sign * expected[v])
    for v in range(len(excess) - 1, -1, -1):
        without = excess[v] - sign * expected[v]
        after += abs(without + change) - abs(without)
        rises[first + v] = (
            table.share[s] * (after - partition.total[c, s]) if after <= limit else np.inf
        )
