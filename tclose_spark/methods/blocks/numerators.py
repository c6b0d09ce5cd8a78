"""Numerators of the distances between a class and the table, from counts by value of one attribute: see
`measures.distances`.

They take integers, in which they are exact, and floats as well (shares of the table with rows = 1), which is how a
method measures while it searches. Precondition: scale * n * s < 2^62 for the largest s, so that no sum
leaves 64 bits.
"""

from __future__ import annotations

from typing import Any

from tclose_spark.kernels import kernel
from tclose_spark.table.arrays import Codes


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
    counts: Any, size: Any, table: Any, domain: int, parents: Codes, height: int, rows: Any, excess: Any
) -> Any:
    """Sum over all nodes but the root of |n c - s N| of the rows below the node: twice the numerator.

    What is too much below a node must leave through it: `measures.features` adds up the same.
    excess: (domain,), to work in, of the type of counts. Invariant: before each height, excess[:level] is n c - s N of
    the nodes one height lower, in the tree's order. A node's children are consecutive and no node comes after its first
    child, so a height overwrites the one below in place.
    """
    for value in range(domain):
        excess[value] = rows * counts[value] - size * table[value]
    total, level = excess[0] - excess[0], domain
    for step in range(height):
        last = -1
        for child in range(level):
            net, node = excess[child], parents[step, child]
            total += abs(net)
            if node == last:
                excess[node] += net
            else:
                excess[node] = net
                last = node
        level = last + 1
    return total
