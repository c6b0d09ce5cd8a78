"""Numerators of the distance of a class from the table, from counts by value of one attribute (see
`measures.distances`).

With integers they are exact; with floats (shares of the table, rows = 1) methods measure during a
search. Precondition: scale * n * s < 2^62 for the largest s, so that every sum fits in 64 bits.
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
    total = 0
    excess = 0
    for value in range(domain - 1):
        excess += rows * counts[value] - size * table[value]
        total += abs(excess)
    return total


@kernel
def twice_hierarchical_numerator(
    counts: Any,
    size: Any,
    table: Any,
    domain: int,
    parents: Codes,
    height: int,
    rows: Any,
    excess: Any,
) -> Any:
    """Sum over all nodes except the root of |n c - s N| of the rows below the node: twice the
    numerator. The excess below a node has to leave through it; `measures.distances.features` has
    the same sum.

    excess: to work in, shape (domain,), of the type of counts. Invariant: before each height,
        excess[:level] is n c - s N of the nodes one height lower. A node's children are consecutive
        and no node comes after its first child, so a height overwrites the one below in place.
    """
    for value in range(domain):
        excess[value] = rows * counts[value] - size * table[value]
    total = excess[0] - excess[0]
    level = domain
    for step in range(height):
        last = -1
        for child in range(level):
            net = excess[child]
            node = parents[step, child]
            total += abs(net)
            if node == last:
                excess[node] += net
            else:
                excess[node] = net
                last = node
        level = last + 1
    return total
