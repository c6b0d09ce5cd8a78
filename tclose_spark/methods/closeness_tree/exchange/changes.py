"""Changes of a partition: a row moves, or two rows swap places. Each change updates all figures
(see `Partition`).
"""

from __future__ import annotations

from tclose_spark.kernels import kernel
from tclose_spark.methods.closeness_tree.exchange.boxes import (
    box_width,
    change_box,
    pack_box,
    scan,
)
from tclose_spark.methods.closeness_tree.exchange.counts import add_row, count_members, remove_row
from tclose_spark.methods.closeness_tree.exchange.distances import (
    measure,
    measure_change,
    measure_swap,
)
from tclose_spark.methods.closeness_tree.exchange.partition import Partition, Table


@kernel
def count_all(table: Table, partition: Partition) -> None:
    """Set every figure of the partition from partition.of alone."""
    partition.size[:] = 0
    for row in range(len(partition.of)):
        partition.size[partition.of[row]] += 1
    reserve(partition)
    partition.size[:] = 0
    for row in range(len(partition.of)):
        append_member(partition, row, partition.of[row])
    for c in range(len(partition.size)):
        count_class(table, partition, c)


@kernel
def count_class(table: Table, partition: Partition, c: int) -> None:
    """Set the figures of one class from its members."""
    for j in range(table.quasi.shape[1]):
        scan(table, partition, c, j)
        partition.wide[c, j] = box_width(table, partition, c, j)
    partition.width[c] = partition.wide[c].sum()
    pack_box(table, partition, c)
    count_members(table, partition, c)
    measure(table, partition, c, partition.size[c])


@kernel
def reserve(partition: Partition) -> None:
    """Give each class room for half as many rows more, and some. Its members have to be appended
    again.
    """
    at = 0
    for c in range(len(partition.size)):
        partition.start[c], partition.room[c] = at, partition.size[c] + partition.size[c] // 2 + 8
        at += partition.room[c]


@kernel
def repack(partition: Partition) -> None:
    """Give room as `reserve` does, and keep the members in their order."""
    for at in range(len(partition.member)):
        partition.old[at] = partition.member[at]
    for c in range(len(partition.start)):
        partition.old_start[c] = partition.start[c]
    reserve(partition)
    for c in range(len(partition.size)):
        for at in range(partition.size[c]):
            partition.member[partition.start[c] + at] = partition.old[partition.old_start[c] + at]


@kernel
def append_member(partition: Partition, row: int, c: int) -> None:
    """Make the row the last member of class c, which must have room."""
    partition.member[partition.start[c] + partition.size[c]] = row
    partition.place[row] = partition.size[c]
    partition.size[c] += 1
    partition.of[row] = c


@kernel
def move(table: Table, partition: Partition, row: int, to: int) -> None:
    """Move a row to another class, which must have room."""
    c = partition.of[row]
    cell = table.cell[row]
    last = partition.member[partition.start[c] + partition.size[c] - 1]
    partition.member[partition.start[c] + partition.place[row]] = last
    partition.place[last] = partition.place[row]
    partition.size[c] -= 1
    append_member(partition, row, to)
    change_box(table, partition, c, row, -1)
    change_box(table, partition, to, -1, row)
    remove_row(table, partition, c, cell)
    measure_change(table, partition, c, cell, -1)
    add_row(table, partition, to, cell)
    measure_change(table, partition, to, cell, 1)


@kernel
def swap(table: Table, partition: Partition, row: int, other: int) -> None:
    """Two rows of different classes swap places."""
    c = partition.of[row]
    d = partition.of[other]
    (
        partition.member[partition.start[c] + partition.place[row]],
        partition.member[partition.start[d] + partition.place[other]],
    ) = other, row
    partition.place[row], partition.place[other] = partition.place[other], partition.place[row]
    partition.of[row] = d
    partition.of[other] = c
    change_box(table, partition, c, row, other)
    change_box(table, partition, d, other, row)
    if table.cell[row] != table.cell[other]:
        measure_swap(table, partition, c, table.cell[row], table.cell[other])
        measure_swap(table, partition, d, table.cell[other], table.cell[row])


@kernel
def loss(partition: Partition) -> float:
    """Rows times width, summed over classes. Divided by rows and quasi-identifiers it is the
    NCP.
    """
    total = 0.0
    for c in range(len(partition.size)):
        total += partition.size[c] * partition.width[c]
    return total
