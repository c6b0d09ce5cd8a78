"""Distances of classes in exact integers, kept up to date: which rows a class may lose or gain, and
how its closeness ratio changes.

Equal and hierarchical distances of a class: by what it has in common with the table.

Let c_u be the rows of a class of s rows with the value u or below the node u, and N_u those of the
table of n. |x - y| = x + y - 2 min(x, y), and all x = n c_u and all y = s N_u add up to n s at each
height. So the numerator of an equal distance is 2 (n s - sum of min(n c_u, s N_u)). A hierarchical
distance has h n s - sum of min(n c_u, s N_u), over all nodes below the root, at h heights. Only
values and nodes with rows of the class contribute to the sum.

Ordered distances of a class: by its cumulative excess.

Let C_v be the rows of a class of s rows with the value v or a lower one, and X_v those of the table
of n. The excess is n C_v - s X_v, and the numerator is the sum of |excesses| (see
`measures.distances`). When a row joins (sign +1) or leaves (-1), every excess changes by -sign X_v,
and from the row's value on also by sign n. So one pass over the excesses, with a correction for
each value, gives the new numerator for every value.
"""

from __future__ import annotations

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.methods.blocks.block import ANYTHING, EQUAL, ORDERED
from tclose_spark.methods.closeness_tree.exchange.counts import (
    add_row,
    below_cap,
    remove_row,
    within_caps,
)
from tclose_spark.methods.closeness_tree.exchange.partition import JOIN, LEAVE, Partition, Table


@kernel
def measure_excess(table: Table, partition: Partition, c: int, s: int, size: int) -> None:
    """Set partition.excess[c] and partition.total[c] of attribute s from the counts of class c, of
    `size` rows.
    """
    reached = 0
    total = 0
    for v in range(table.first[s], table.first[s + 1]):
        reached += partition.counts[c, v]
        partition.excess[c, v] = table.requirement.rows * reached - size * table.expected[v]
        total += abs(partition.excess[c, v])
    partition.total[c, s] = total


@kernel
def change_excess(table: Table, partition: Partition, c: int, s: int, own: int, sign: int) -> None:
    """Update class c after a row in column `own` joined (sign +1) or left it (-1)."""
    first = table.first[s]
    last = table.first[s + 1]
    excess = partition.excess[c, first:last]
    expected = table.expected[first:last]
    total = 0
    rows = table.requirement.rows
    own = own - first
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
    rise = 0
    change = -table.requirement.rows if out < into else table.requirement.rows
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
    first = table.first[s]
    last = table.first[s + 1]
    total = 0
    excess = partition.excess[c, first:last]
    other = partition.excess[d, first:last]
    for v in range(len(excess)):
        total += abs(excess[v] + sign * other[v])
    return int(total)


@kernel
def update_rises(table: Table, partition: Partition, side: int, c: int, s: int, size: int) -> None:
    """Set partition.rises[side, c] for the values of attribute s, if class c then has `size` rows.

    Invariant of the second pass: `after` includes the own changes of the values from v on.
    """
    partition.fresh[side, c, s] = True
    first = table.first[s]
    last = table.first[s + 1]
    excess = partition.excess[c, first:last]
    expected = table.expected[first:last]
    rises = partition.rises[side, c]
    sign = 1 if side == JOIN else -1
    after = 0
    limit = table.requirement.limits[s, size]
    change = sign * table.requirement.rows
    for v in range(len(excess)):
        after += abs(excess[v] - sign * expected[v])
    for v in range(len(excess) - 1, -1, -1):
        without = excess[v] - sign * expected[v]
        after += abs(without + change) - abs(without)
        rises[first + v] = (
            table.share[s] * (after - partition.total[c, s]) if after <= limit else np.inf
        )


@kernel
def numerator_of(table: Table, s: int, size: int, common: int) -> int:
    """The numerator of attribute s in a class of `size` rows, from the sum of min(n c_u, s N_u)."""
    return int(size * table.apart[s] - (2 * common if table.metric[s] == EQUAL else common))


@kernel
def measure_common(table: Table, partition: Partition, c: int, s: int, size: int) -> None:
    """Set partition.common[:, c, s] and partition.total[c, s] from the counts of class c, of `size`
    rows.
    """
    n = table.requirement.rows
    counts = partition.counts[c]
    held = partition.held[c, table.first[s] :]
    less = 0
    common = 0
    more = 0
    for at in range(partition.length[c, s]):
        column = held[at]
        has = n * counts[column]
        expected = table.expected[column]
        most = size * expected
        less += min(has, most - expected)
        common += min(has, most)
        more += min(has, most + expected)
    partition.common[LEAVE, c, s] = less
    partition.common[JOIN, c, s] = more
    partition.total[c, s] = numerator_of(table, s, size, common)


@kernel
def numerator_after(
    table: Table,
    partition: Partition,
    side: int,
    c: int,
    column: int,
    s: int,
    size: int,
) -> int:
    """The numerator of attribute s in class c, then of `size` rows, after a row in this column
    leaves or joins.
    """
    n = table.requirement.rows
    common = partition.common[side, c, s]
    change = n if side == JOIN else -n
    while column >= 0:
        has = n * partition.counts[c, column]
        most = size * table.expected[column]
        common += min(has + change, most) - min(has, most)
        column = table.above[column]
    return numerator_of(table, s, size, common)


@kernel
def common_after_swap(table: Table, partition: Partition, c: int, out: int, into: int) -> int:
    """How much the sum of min(n c_u, s N_u) of class c rises if a row in column `out` gives way to
    one in `into`.
    """
    n = table.requirement.rows
    size = partition.size[c]
    rise = 0
    while out != into:  # nodes above both keep their rows
        has = n * partition.counts[c, out]
        most = size * table.expected[out]
        rise += min(has - n, most) - min(has, most)
        has = n * partition.counts[c, into]
        most = size * table.expected[into]
        rise += min(has + n, most) - min(has, most)
        out = table.above[out]
        into = table.above[into]
    return int(rise)


@kernel
def common_of_two(
    table: Table,
    partition: Partition,
    c: int,
    d: int,
    sign: int,
    s: int,
    size: int,
) -> int:
    """The sum of min(n c_u, s N_u) of `size` rows: those of class c with (sign 1) or without (-1)
    those of class d.
    """
    n = table.requirement.rows
    common = 0
    counts = partition.counts[c]
    others = partition.counts[d]
    first = table.first[s]
    for at in range(first, first + partition.length[c, s]):
        column = partition.held[c, at]
        common += min(n * (counts[column] + sign * others[column]), size * table.expected[column])
    if sign > 0:
        for at in range(first, first + partition.length[d, s]):
            column = partition.held[d, at]
            if counts[column] == 0:
                common += min(n * others[column], size * table.expected[column])
    return int(common)


@kernel
def rise(table: Table, partition: Partition, side: int, c: int, cell: int) -> float:
    """How much the weighted closeness ratio of class c times its rows rises, summed over
    attributes, when a row of this cell leaves it (side LEAVE) or joins it (JOIN); infinite if c
    would then fail the requirement.
    """
    size = partition.size[c] + (1 if side == JOIN else -1)
    total = 0.0
    if size < table.requirement.k or size >= table.requirement.limits.shape[1]:
        return np.inf
    for s in range(table.column.shape[1]):
        column = table.column[cell, s]
        if (
            side == LEAVE
            and partition.present[c, s] <= table.requirement.distinct[s]
            and partition.counts[c, column] == 1
        ):
            return np.inf
        if side == JOIN and not below_cap(table, partition, c, column, s, size):
            return np.inf
        if side == LEAVE and not within_caps(
            table,
            partition,
            c,
            -1,
            column,
            s,
            size,
        ):  # the other shares rise
            return np.inf
        limit = table.requirement.limits[s, size]
        if limit == ANYTHING:
            continue
        if table.metric[s] == ORDERED:
            if not partition.fresh[side, c, s]:
                update_rises(table, partition, side, c, s, size)
            total += partition.weight[c, s] * partition.rises[side, c, column]
        else:
            after = numerator_after(table, partition, side, c, column, s, size)
            total += partition.weight[c, s] * float(
                np.float32(rise_to(table, partition, c, s, after, limit)),
            )
    return total


@kernel
def rise_to(table: Table, partition: Partition, c: int, s: int, after: int, limit: int) -> float:
    """The rise if the numerator of attribute s in class c becomes `after`; infinite above the
    limit.
    """
    return table.share[s] * (after - partition.total[c, s]) if after <= limit else np.inf


@kernel
def rise_by_swap(table: Table, partition: Partition, c: int, leaving: int, joining: int) -> float:
    """As `rise`, if a row of cell `joining` replaces one of cell `leaving` in class c."""
    total = 0.0
    for s in range(table.column.shape[1]):
        out = table.column[leaving, s]
        into = table.column[joining, s]
        if out == into:
            continue
        if (
            partition.present[c, s]
            - (partition.counts[c, out] == 1)
            + (partition.counts[c, into] == 0)
            < table.requirement.distinct[s]
        ):
            return np.inf
        if not below_cap(table, partition, c, into, s, partition.size[c]):
            return np.inf
        limit = table.requirement.limits[s, partition.size[c]]
        if limit != ANYTHING:
            after = swapped_numerator(table, partition, c, s, out, into)
            total += partition.weight[c, s] * rise_to(table, partition, c, s, after, limit)
    return total


@kernel
def holds(table: Table, partition: Partition, c: int, size: int) -> bool:
    """Whether class c, of `size` rows, meets the requirement, by its counts and distances."""
    if size < table.requirement.k:
        return False
    for s in range(table.column.shape[1]):
        if partition.present[c, s] < table.requirement.distinct[s]:
            return False
        if partition.total[c, s] > table.requirement.limits[s, size]:
            return False
        if not within_caps(table, partition, c, -1, -1, s, size):
            return False
    return True


@kernel
def swapped_numerator(
    table: Table,
    partition: Partition,
    c: int,
    s: int,
    out: int,
    into: int,
) -> int:
    """The numerator of attribute s in class c with one row less in column `out` and one more in
    column `into`.
    """
    if table.metric[s] == ORDERED:
        return int(partition.total[c, s] + excess_after_swap(table, partition, c, out, into))
    return int(
        partition.total[c, s]
        + numerator_of(table, s, 0, common_after_swap(table, partition, c, out, into)),
    )


@kernel
def numerator_of_two(
    table: Table,
    partition: Partition,
    c: int,
    d: int,
    sign: int,
    s: int,
    size: int,
) -> int:
    """The numerator of attribute s in `size` rows: those of class c with (sign 1) or without (-1)
    those of class d.
    """
    if table.metric[s] == ORDERED:
        return int(excess_of_two(table, partition, c, d, sign, s))
    return int(numerator_of(table, s, size, common_of_two(table, partition, c, d, sign, s, size)))


@kernel
def measure(table: Table, partition: Partition, c: int, size: int) -> None:
    """Set the distances of class c, of `size` rows, from its counts."""
    for s in range(table.column.shape[1]):
        if table.metric[s] == ORDERED:
            measure_excess(table, partition, c, s, size)
        else:
            measure_common(table, partition, c, s, size)
    partition.fresh[:, c] = False


@kernel
def measure_change(table: Table, partition: Partition, c: int, cell: int, sign: int) -> None:
    """Update the distances of class c after a row of this cell joined (sign +1) or left it (-1).
    Size and counts are up to date already.
    """
    for s in range(table.column.shape[1]):
        if table.metric[s] == ORDERED:
            change_excess(table, partition, c, s, table.column[cell, s], sign)
        else:
            measure_common(table, partition, c, s, partition.size[c])
    partition.fresh[:, c] = False


@kernel
def measure_swap(table: Table, partition: Partition, c: int, leaving: int, joining: int) -> None:
    """Update class c, except for its members, after a row of cell `joining` replaced one of cell
    `leaving`.
    """
    add_row(table, partition, c, joining)
    remove_row(table, partition, c, leaving)
    for s in range(table.column.shape[1]):
        out = table.column[leaving, s]
        into = table.column[joining, s]
        if table.metric[s] == ORDERED:
            swap_excess(table, partition, c, s, out, into)
        else:
            measure_common(table, partition, c, s, partition.size[c])
    partition.fresh[:, c] = False
