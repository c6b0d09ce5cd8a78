"""Distances of classes in exact integers, kept up to date: which rows a class may lose or gain, and
how its closeness ratio changes.
"""

from __future__ import annotations

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.methods.blocks.requirement import ANYTHING, ORDERED
from tclose_spark.methods.closeness_tree.exchange.common import (
    common_after_swap,
    common_of_two,
    measure_common,
    numerator_after,
    numerator_of,
)
from tclose_spark.methods.closeness_tree.exchange.counts import (
    add_row,
    below_cap,
    remove_row,
    within_caps,
)
from tclose_spark.methods.closeness_tree.exchange.excess import (
    change_excess,
    excess_after_swap,
    excess_of_two,
    measure_excess,
    swap_excess,
    update_rises,
)
from tclose_spark.methods.closeness_tree.exchange.partition import JOIN, LEAVE, Partition, Table


@kernel
def rise(table: Table, partition: Partition, side: int, c: int, cell: int) -> float:
    """How much the weighted closeness ratio of class c times its rows rises, summed over
    attributes, when a row of this cell leaves it (side LEAVE) or joins it (JOIN); infinite if c
    would then fail the requirement.
    """
    size, total = partition.size[c] + (1 if side == JOIN else -1), 0.0
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
            table, partition, c, -1, column, s, size
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
                np.float32(rise_to(table, partition, c, s, after, limit))
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
        out, into = table.column[leaving, s], table.column[joining, s]
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
    table: Table, partition: Partition, c: int, s: int, out: int, into: int
) -> int:
    """The numerator of attribute s in class c with one row less in column `out` and one more in
    column `into`.
    """
    if table.metric[s] == ORDERED:
        return int(partition.total[c, s] + excess_after_swap(table, partition, c, out, into))
    return int(
        partition.total[c, s]
        + numerator_of(table, s, 0, common_after_swap(table, partition, c, out, into))
    )


@kernel
def numerator_of_two(
    table: Table, partition: Partition, c: int, d: int, sign: int, s: int, size: int
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
        out, into = table.column[leaving, s], table.column[joining, s]
        if table.metric[s] == ORDERED:
            swap_excess(table, partition, c, s, out, into)
        else:
            measure_common(table, partition, c, s, partition.size[c])
    partition.fresh[:, c] = False
