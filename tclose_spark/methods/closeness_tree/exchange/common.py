"""Equal and hierarchical distances of a class: by what it has in common with the table.

Let c_u be the rows of a class of s rows with the value u or below the node u, and N_u those of the
table of n. Since
|x - y| = x + y - 2 min(x, y), and all x = n c_u and all y = s N_u add up to n s at each height, the numerator of an
equal distance is 2 (n s - sum of min(n c_u, s N_u)). A hierarchical distance has h n s - sum of min(n c_u, s N_u), over
all nodes below the root, at h heights. Only values and nodes with rows of the class contribute to the sum.
"""

from __future__ import annotations

from tclose_spark.kernels import kernel
from tclose_spark.methods.blocks.requirement import EQUAL
from tclose_spark.methods.closeness_tree.exchange.partition import JOIN, LEAVE, Partition, Table


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
    less, common, more = 0, 0, 0
    for at in range(partition.length[c, s]):
        column = held[at]
        has, expected = n * counts[column], table.expected[column]
        most = size * expected
        less += min(has, most - expected)
        common += min(has, most)
        more += min(has, most + expected)
    partition.common[LEAVE, c, s], partition.common[JOIN, c, s] = less, more
    partition.total[c, s] = numerator_of(table, s, size, common)


@kernel
def numerator_after(
    table: Table, partition: Partition, side: int, c: int, column: int, s: int, size: int
) -> int:
    """The numerator of attribute s in class c, then of `size` rows, after a row in this column
    leaves or joins.
    """
    n, common = table.requirement.rows, partition.common[side, c, s]
    change = n if side == JOIN else -n
    while column >= 0:
        has, most = n * partition.counts[c, column], size * table.expected[column]
        common += min(has + change, most) - min(has, most)
        column = table.above[column]
    return numerator_of(table, s, size, common)


@kernel
def common_after_swap(table: Table, partition: Partition, c: int, out: int, into: int) -> int:
    """How much the sum of min(n c_u, s N_u) of class c rises if a row in column `out` gives way to
    one in `into`.
    """
    n, size, rise = table.requirement.rows, partition.size[c], 0
    while out != into:  # nodes above both keep their rows
        has, most = n * partition.counts[c, out], size * table.expected[out]
        rise += min(has - n, most) - min(has, most)
        has, most = n * partition.counts[c, into], size * table.expected[into]
        rise += min(has + n, most) - min(has, most)
        out, into = table.above[out], table.above[into]
    return int(rise)


@kernel
def common_of_two(
    table: Table, partition: Partition, c: int, d: int, sign: int, s: int, size: int
) -> int:
    """The sum of min(n c_u, s N_u) of `size` rows: those of class c with (sign 1) or without (-1)
    those of class d.
    """
    n, common = table.requirement.rows, 0
    counts, others, first = partition.counts[c], partition.counts[d], table.first[s]
    for at in range(first, first + partition.length[c, s]):
        column = partition.held[c, at]
        common += min(n * (counts[column] + sign * others[column]), size * table.expected[column])
    if sign > 0:
        for at in range(first, first + partition.length[d, s]):
            column = partition.held[d, at]
            if counts[column] == 0:
                common += min(n * others[column], size * table.expected[column])
    return int(common)
