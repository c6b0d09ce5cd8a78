"""The counts of a class: its rows with each value, and below each node of a hierarchy.

A class of s rows has at most s values of each attribute, however large the domain is. So the
columns with rows are listed, and work on a class is proportional to their number.
"""

from __future__ import annotations

from tclose_spark.kernels import kernel
from tclose_spark.methods.closeness_tree.exchange.partition import Partition, Table


@kernel
def add_row(table: Table, partition: Partition, c: int, cell: int) -> None:
    """Count a row of this cell in class c."""
    counts = partition.counts[c]
    held = partition.held[c]
    for s in range(table.column.shape[1]):
        first = table.first[s]
        column = table.column[cell, s]
        partition.present[c, s] += counts[column] == 0
        while column >= 0:
            if counts[column] == 0:
                held[first + partition.length[c, s]] = column
                partition.length[c, s] += 1
            counts[column] += 1
            column = table.above[column]


@kernel
def remove_row(table: Table, partition: Partition, c: int, cell: int) -> None:
    """Count a row of this cell in class c no more."""
    counts = partition.counts[c]
    held = partition.held[c]
    for s in range(table.column.shape[1]):
        first = table.first[s]
        column = table.column[cell, s]
        partition.present[c, s] -= counts[column] == 1
        while column >= 0:
            counts[column] -= 1
            if counts[column] == 0:
                partition.length[c, s] -= 1
                at = first
                while held[at] != column:
                    at += 1
                held[at] = held[first + partition.length[c, s]]
            column = table.above[column]


@kernel
def remove_all(table: Table, partition: Partition, c: int) -> None:
    """Count no rows in class c."""
    for s in range(table.column.shape[1]):
        for at in range(table.first[s], table.first[s] + partition.length[c, s]):
            partition.counts[c, partition.held[c, at]] = 0
        partition.length[c, s] = partition.present[c, s] = 0


@kernel
def count_members(table: Table, partition: Partition, c: int) -> None:
    """Count the members of class c, and nothing else."""
    remove_all(table, partition, c)
    for at in range(partition.start[c], partition.start[c] + partition.size[c]):
        add_row(table, partition, c, table.cell[partition.member[at]])


@kernel
def within_caps(
    table: Table,
    partition: Partition,
    c: int,
    part: int,
    but: int,
    s: int,
    size: int,
) -> bool:
    """Whether no value of attribute s is above its cap in class c, then of `size` rows.

    part: a class whose counts are among those of c and are left out, or -1. but: the column of a
        value that is not looked at, or -1.
    """
    caps = table.requirement.caps
    first = table.first[s]
    for at in range(first, first + partition.length[c, s] if caps.shape[1] > 0 else first):
        column = partition.held[c, at]
        value = column - first
        rows = partition.counts[c, column]
        if value >= table.requirement.domains[s] or column == but:
            continue
        if part >= 0:
            rows -= partition.counts[part, column]
        if caps[1, s, value] * rows > caps[0, s, value] * size:
            return False
    return True


@kernel
def below_cap(table: Table, partition: Partition, c: int, column: int, s: int, size: int) -> bool:
    """Whether class c, then of `size` rows, may have another row in this column."""
    caps = table.requirement.caps
    value = column - table.first[s]
    if caps.shape[1] == 0:
        return True
    return bool(caps[1, s, value] * (partition.counts[c, column] + 1) <= caps[0, s, value] * size)


@kernel
def values_without(table: Table, partition: Partition, c: int, part: int, s: int) -> int:
    """How many values of attribute s class c has without the rows of class `part`, whose counts are
    among its own.
    """
    values = 0
    for at in range(table.first[s], table.first[s] + partition.length[c, s]):
        column = partition.held[c, at]
        if column < table.first[s] + table.requirement.domains[s]:
            values += partition.counts[c, column] > partition.counts[part, column]
    return values
