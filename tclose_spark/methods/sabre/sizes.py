"""The rows of each bucket in every class: the tree of SABRE's second phase (Cao et al. 2011; Weber, 2.3.4 and 4.1.3).

All rows are one class at first. A class is halved, with half of its rows of each bucket in either half, while both
halves have k rows and are charged at most t: the bound of its buckets plus the cost of rounding to whole rows (see
`methods.dealing.relaxed_conformance`). The first bucket with an odd number of rows gives its odd row to the first half,
the next one to the second, and so on, so that halves are alike along the domain. The paper leaves the choice open.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose_spark.methods.dealing.relaxed_conformance import FragmentTable
from tclose_spark.table.arrays import IntArray


def class_sizes(rows: IntArray, k: int, table: FragmentTable, limit: float) -> IntArray:
    """The rows of each bucket in each class, shape (classes, buckets).

    rows: of each bucket, all of them together, shape (buckets,). limit: of what a class is charged.

    >>> free = FragmentTable(np.array([16, 32, 64]), np.zeros((1, 3)), (np.zeros((3, 1)),), (1.0,))
    >>> class_sizes(np.array([16, 32, 64]), 5, free, 0.1)[0].tolist()
    [1, 2, 4]
    """
    done, nodes = [], rows[None, :]
    while len(nodes):
        first, second = halves(nodes)
        splits = _may_be(first, k, table, limit) & _may_be(second, k, table, limit)
        done.append(nodes[~splits])
        nodes = np.concatenate([first[splits], second[splits]])
    return np.concatenate(done)


def halves(nodes: IntArray) -> tuple[IntArray, IntArray]:
    """Both halves of classes, each of shape (classes, buckets)

    >>> [half.tolist() for half in halves(np.array([[3, 4, 5, 1]]))]
    [[[2, 2, 2, 1]], [[1, 2, 3, 0]]]
    """
    odd = nodes % 2
    first = nodes // 2 + odd * (np.cumsum(odd, axis=1) % 2)
    return first, nodes - first


def _may_be(nodes: IntArray, k: int, table: FragmentTable, limit: float) -> NDArray[np.bool_]:
    """Whether classes have k rows and are charged at most the limit, shape (classes,)."""
    sizes = nodes.sum(axis=1)
    may: NDArray[np.bool_] = sizes >= k
    if may.any():
        may[may] = table.charged(nodes[may] / sizes[may, None])[:, 0] <= limit
    return may
