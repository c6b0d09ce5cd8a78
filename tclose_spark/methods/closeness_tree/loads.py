"""What a class must hold, tested exactly, for the kernels: distances as in `measures.distances`, in 64-bit integers.

Everything works on counts of one class by value, a row an attribute. The three numerators take floats as well (shares
of the table with rows = 1), which is how `peel` measures; there nothing is exact. Precondition: scale * n * s < 2^62
for the largest s asked about (see `measures.distances`), so that no sum of a numerator leaves 64 bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.methods.closeness_tree.block import Requirement

ANYTHING = np.iinfo(np.int64).max


class Asked(NamedTuple):
    """The arrays of a `Requirement` as one argument of a kernel; the same names mean the same. extra: (largest
    domain,), to work in.
    """

    codes: Any
    tables: Any
    domains: Any
    ordered: Any
    parents: Any
    heights: Any
    rows: Any
    k: Any
    distinct: Any
    limits: Any
    extra: Any


def asked_of(requirement: Requirement) -> Asked:
    """The requirement for kernels: one type for every array, so that a kernel compiles once."""
    return Asked(
        np.ascontiguousarray(requirement.codes, dtype=np.int32),
        np.ascontiguousarray(requirement.tables, dtype=np.int64),
        np.ascontiguousarray(requirement.domains, dtype=np.int64),
        np.ascontiguousarray(requirement.ordered, dtype=np.bool_),
        np.ascontiguousarray(requirement.parents, dtype=np.int32),
        np.ascontiguousarray(requirement.heights, dtype=np.int64),
        int(requirement.rows),
        int(requirement.k),
        np.ascontiguousarray(requirement.distinct, dtype=np.int64),
        np.ascontiguousarray(requirement.limits, dtype=np.int64),
        np.zeros(requirement.tables.shape[1], dtype=np.int64),
    )


@kernel
def equal_numerator(counts: Any, size: Any, table: Any, domain: int, rows: Any) -> Any:
    """Sum over values v of |n c_v - s N_v|."""
    total = 0
    for value in range(domain):
        total += abs(rows * counts[value] - size * table[value])
    return total


@kernel
def ordered_numerator(counts: Any, size: Any, table: Any, domain: int, rows: Any) -> Any:
    """Sum over values i but the last of |n C_i - s X_i|, C and X cumulative."""
    total, excess = 0, 0
    for value in range(domain - 1):
        excess += rows * counts[value] - size * table[value]
        total += abs(excess)
    return total


@kernel
def twice_hierarchical_numerator(
    counts: Any, size: Any, table: Any, domain: int, parents: Any, height: int, rows: Any, extra: Any
) -> Any:
    """Sum over all nodes but the root of |n c - s N| of the rows below the node: twice the numerator.

    What is too much below a node must leave through it: `measures.distances` adds up the same transport at the inner
    nodes.
    extra: (domain,), to work in, of the type of counts. Invariant: before each height, extra[:level] is n c - s N of
    the nodes one height lower, in the tree's order. A node's children are consecutive and no node comes after its first
    child, so a height overwrites the one below in place.
    """
    for value in range(domain):
        extra[value] = rows * counts[value] - size * table[value]
    total, level = extra[0] - extra[0], domain
    for step in range(height):
        last = -1
        for child in range(level):
            net, node = extra[child], parents[step, child]
            total += abs(net)
            if node == last:
                extra[node] += net
            else:
                extra[node] = net
                last = node
        level = last + 1
    return total


@kernel
def numerator(
    counts: Any, size: int, table: Any, domain: int, ordered: bool, parents: Any, height: int, rows: int, extra: Any
) -> Any:
    """The exact numerator of the distance of a class of `size` rows from the table: distance = numerator / (scale n s).

    counts, table: rows of the class and of the table by value, int64. parents: (highest, largest domain), used where
    height > 0.
    """
    if height > 0:
        return twice_hierarchical_numerator(counts, size, table, domain, parents, height, rows, extra) // 2
    if ordered:
        return ordered_numerator(counts, size, table, domain, rows)
    return equal_numerator(counts, size, table, domain, rows)


@kernel
def distance_holds(attribute: int, counts: Any, size: int, asked: Asked) -> bool:
    """Whether the distance of one attribute is at most its t, exactly. counts: by value of this attribute, int64."""
    limit = asked.limits[attribute, size]
    if limit == ANYTHING:
        return True
    found = numerator(
        counts,
        size,
        asked.tables[attribute],
        asked.domains[attribute],
        asked.ordered[attribute],
        asked.parents[attribute],
        asked.heights[attribute],
        asked.rows,
        asked.extra,
    )
    return bool(found <= limit)


@kernel
def distinct_holds(attribute: int, counts: Any, asked: Asked) -> bool:
    """Whether at least l values of one attribute occur."""
    missing = asked.distinct[attribute]
    if missing <= 1:
        return True
    for value in range(asked.domains[attribute]):
        if counts[value] > 0:
            missing -= 1
            if missing == 0:
                return True
    return False


@kernel
def holds(counts: Any, size: int, asked: Asked) -> bool:
    """Whether a class of `size` rows holds everything asked, exactly. counts: (attributes, largest domain), int64."""
    if size < asked.k:
        return False
    for attribute in range(len(asked.domains)):
        if not distinct_holds(attribute, counts[attribute], asked):
            return False
        if not distance_holds(attribute, counts[attribute], size, asked):
            return False
    return True


@kernel
def load(counts: Any, size: int, asked: Asked) -> float:
    """The largest of the attributes' distances as shares of their t (1 is just allowed): a float, for schedules
    only.
    """
    worst = 0.0
    for attribute in range(len(asked.domains)):
        limit = asked.limits[attribute, size]
        if limit == ANYTHING:
            continue
        found = numerator(
            counts[attribute],
            size,
            asked.tables[attribute],
            asked.domains[attribute],
            asked.ordered[attribute],
            asked.parents[attribute],
            asked.heights[attribute],
            asked.rows,
            asked.extra,
        )
        if found > 0:
            worst = max(worst, found / limit if limit > 0 else np.inf)
    return worst


@kernel
def add_cell(counts: Any, cell: int, rows: int, codes: Any) -> None:
    """Add `rows` rows (negative: take away) of one cell to the counts by value of every attribute."""
    for attribute in range(codes.shape[1]):
        counts[attribute, codes[cell, attribute]] += rows
