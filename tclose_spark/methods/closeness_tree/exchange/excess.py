"""Distances of classes in exact integers, kept up to date: which values a class may lose or gain, and how its closeness
ratio changes.

Let c_v be the counts of a class of s rows and N_v those of the table of n. The excess of a value is n c_v - s N_v,
cumulative for an ordered attribute, and the numerator of each distance follows from the excesses (see
`measures.distances`). When a row joins (sign +1) or leaves (-1), every excess changes by -sign N_v, and that of its
value (ordered: of all values from it on) also by sign n. So one pass over the excesses, with a correction for each
value, gives the new numerator for every value.
"""

from __future__ import annotations

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.methods.blocks.requirement import ANYTHING, EQUAL, HIERARCHICAL, ORDERED
from tclose_spark.methods.closeness_tree.exchange.partition import JOIN, LEAVE, Partition, Table


@kernel
def rise(table: Table, partition: Partition, side: int, c: int, cell: int) -> float:
    """How much the closeness ratio of class c times its rows rises, summed over attributes, when a row of this cell
    leaves it (side LEAVE) or joins it (JOIN); infinite if c would then fail the requirement.
    """
    if not partition.fresh[side, c]:
        update_rises(table, partition, side, c)
    total = 0.0
    for s in range(table.column.shape[1]):
        total += partition.rises[side, c, table.column[cell, s]]
    return total


@kernel
def sign_of(side: int) -> int:
    """The change in rows: 1 (JOIN) or -1 (LEAVE)."""
    return 1 if side == JOIN else -1


@kernel
def update_rises(table: Table, partition: Partition, side: int, c: int) -> None:
    """Set rises[side, c] for all values of all attributes, each on its own: infinite if class c would fail."""
    partition.fresh[side, c] = True
    size = partition.size[c] + sign_of(side)
    if size < table.requirement.k or size >= table.requirement.limits.shape[1]:
        partition.rises[side, c] = np.inf
        return
    for s in range(table.column.shape[1]):
        limit = table.requirement.limits[s, size]
        if limit == ANYTHING:
            partition.rises[side, c, table.first[s] : table.first[s + 1]] = 0.0
        elif table.metric[s] == HIERARCHICAL:
            update_hierarchical_rises(table, partition, side, c, s, limit)
        else:
            update_flat_rises(table, partition, side, c, s, limit)
        if side == LEAVE and partition.present[c, s] <= table.requirement.distinct[s]:
            for v in range(table.first[s], table.first[s + 1]):
                if partition.counts[c, v] == 1:
                    partition.rises[side, c, v] = np.inf


@kernel
def update_flat_rises(table: Table, partition: Partition, side: int, c: int, s: int, limit: int) -> None:
    """Set rises[side, c] for the values of an equal or ordered attribute, whose numerator is the sum of |excesses|.

    Invariant of the second pass: `after` includes the own changes of the values from v on (ordered) or of v (equal).
    """
    sign = sign_of(side)
    change, total = sign * table.requirement.rows, 0
    for v in range(table.first[s], table.first[s + 1]):
        total += abs(partition.excess[c, v] - sign * table.expected[v])
    for v in range(table.first[s + 1] - 1, table.first[s] - 1, -1):
        excess = partition.excess[c, v] - sign * table.expected[v]
        after = total + abs(excess + change) - abs(excess)
        partition.rises[side, c, v] = rise_to(table, partition, c, s, after, limit)
        if table.metric[s] == ORDERED:
            total = after


@kernel
def rise_to(table: Table, partition: Partition, c: int, s: int, after: int, limit: int) -> float:
    """The rise if the numerator of attribute s in class c becomes `after`; infinite above the limit."""
    return table.share[s] * (after - partition.total[c, s]) if after <= limit else np.inf


@kernel
def update_hierarchical_rises(table: Table, partition: Partition, side: int, c: int, s: int, limit: int) -> None:
    """Set rises[side, c] for the values of a hierarchical attribute, by correcting the nodes above each value."""
    sign = sign_of(side)
    change, total = sign * table.requirement.rows, sum_nodes(table, partition, c, s, sign)
    for v in range(table.first[s + 1] - table.first[s]):
        after, node, below = total, v, partition.nodes[0, 0, v]
        for h in range(1, table.requirement.heights[s] + 1):
            node = table.requirement.parents[s, h - 1, node]
            above, more = partition.nodes[0, h, node], partition.nodes[1, h, node]
            after -= h * min(more, more - above)
            more += max(below + change, 0) - max(below, 0)
            after += h * min(more, more - above - change)
            below = above
        partition.rises[side, c, table.first[s] + v] = rise_to(table, partition, c, s, after, limit)


@kernel
def sum_nodes(table: Table, partition: Partition, c: int, s: int, sign: int) -> int:
    """The numerator of a hierarchical attribute in class c if its size were `sign` larger, with the same counts.

    Sets partition.nodes[0, h, u] to the excess of node u of height h, and partition.nodes[1, h, u] to the sum of the
    positive excesses of its children.
    """
    m, total = table.first[s + 1] - table.first[s], 0
    partition.nodes[:, : table.requirement.heights[s] + 1, :m] = 0
    for v in range(m):
        partition.nodes[0, 0, v] = partition.excess[c, table.first[s] + v] - sign * table.expected[table.first[s] + v]
    for h in range(1, table.requirement.heights[s] + 1):
        for v in range(m):
            node = table.requirement.parents[s, h - 1, v]
            if node >= 0:
                partition.nodes[0, h, node] += partition.nodes[0, h - 1, v]
                partition.nodes[1, h, node] += max(partition.nodes[0, h - 1, v], 0)
        for node in range(m):
            total += h * min(partition.nodes[1, h, node], partition.nodes[1, h, node] - partition.nodes[0, h, node])
    return total


@kernel
def rise_by_swap(table: Table, partition: Partition, c: int, leaving: int, joining: int) -> float:
    """As `rise`, if a row of cell `joining` replaces one of cell `leaving` in class c."""
    total = 0.0
    for s in range(table.column.shape[1]):
        out, into = table.column[leaving, s], table.column[joining, s]
        if out == into:
            continue
        if (
            partition.present[c, s] - (partition.counts[c, out] == 1) + (partition.counts[c, into] == 0)
            < table.requirement.distinct[s]
        ):
            return np.inf
        limit = table.requirement.limits[s, partition.size[c]]
        if limit != ANYTHING:
            total += rise_to(table, partition, c, s, swapped_numerator(table, partition, c, s, out, into), limit)
    return total


@kernel
def swapped_numerator(table: Table, partition: Partition, c: int, s: int, out: int, into: int) -> int:
    """The numerator of attribute s in class c with one row less in column `out` and one more in column `into`."""
    total = partition.total[c, s]
    if table.metric[s] == EQUAL:
        total += abs(partition.excess[c, out] - table.requirement.rows) - abs(partition.excess[c, out])
        return int(total + abs(partition.excess[c, into] + table.requirement.rows) - abs(partition.excess[c, into]))
    if table.metric[s] == ORDERED:
        change = -table.requirement.rows if out < into else table.requirement.rows
        for v in range(min(out, into), max(out, into)):
            total += abs(partition.excess[c, v] + change) - abs(partition.excess[c, v])
        return int(total)
    partition.excess[c, out] -= table.requirement.rows
    partition.excess[c, into] += table.requirement.rows
    total = sum_nodes(table, partition, c, s, 0)
    partition.excess[c, out] += table.requirement.rows
    partition.excess[c, into] -= table.requirement.rows
    return total


@kernel
def set_excess(table: Table, partition: Partition, c: int, size: int) -> None:
    """Set the excesses of class c, of `size` rows, from its counts by value."""
    for s in range(table.column.shape[1]):
        reached = 0
        for v in range(table.first[s], table.first[s + 1]):
            reached = partition.counts[c, v] + (reached if table.metric[s] == ORDERED else 0)
            partition.excess[c, v] = table.requirement.rows * reached - size * table.expected[v]


@kernel
def numerator(table: Table, partition: Partition, c: int, s: int) -> int:
    """The numerator of attribute s in class c, from its excesses."""
    if table.metric[s] == HIERARCHICAL:
        return sum_nodes(table, partition, c, s, 0)
    total = 0
    for v in range(table.first[s], table.first[s + 1]):
        total += abs(partition.excess[c, v])
    return total


@kernel
def change_excess(table: Table, partition: Partition, c: int, cell: int, sign: int) -> None:
    """Update class c after a row of this cell joined (sign +1) or left it (-1). partition.size[c] is up to date
    already.
    """
    for s in range(table.column.shape[1]):
        own = table.column[cell, s]
        partition.counts[c, own] += sign
        partition.present[c, s] += (partition.counts[c, own] == 1) if sign > 0 else -(partition.counts[c, own] == 0)
        for v in range(table.first[s], table.first[s + 1]):
            partition.excess[c, v] -= sign * table.expected[v]
            if v == own or (v > own and table.metric[s] == ORDERED):
                partition.excess[c, v] += sign * table.requirement.rows
        partition.total[c, s] = numerator(table, partition, c, s)
    partition.fresh[:, c] = False
