"""The counts of a class: its rows with each value, and below each node of a hierarchy.

A class of s rows has at most s values of each attribute, however large the domain is. So the columns with rows are
listed, and work on a class is proportional to their number.
"""

from __future__ import annotations

from tclose_spark.kernels import kernel
from tclose_spark.methods.closeness_tree.exchange.partition import Partition, Table


@kernel
def add_row(table: Table, partition: Partition, c: int, cell: int) -> None:
    """Count a row of this cell in class c."""
    counts, held = partition.counts[c], partition.held[c]
    for s in range(table.column.shape[1]):
        first, column = table.first[s], table.column[cell, s]
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
    counts, held = partition.counts[c], partition.held[c]
    for s in range(table.column.shape[1]):
        first, column = table.first[s], table.column[cell, s]
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
def values_without(table: Table, partition: Partition, c: int, part: int, s: int) -> int:
    """How many values of attribute s class c has without the rows of class `part`, whose counts are among its own."""
    values = 0
    for at in range(table.first[s], table.first[s] + partition.length[c, s]):
        column = partition.held[c, at]
        if column < table.first[s] + table.requirement.domains[s]:
            values += partition.counts[c, column] > partition.counts[part, column]
    return values
