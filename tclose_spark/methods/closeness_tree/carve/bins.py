"""Bins of a wide domain, by which the tree is grown instead of by values, so that work does not
grow with the domain.

A bin is a frequent value, or rare values near to each other, whose rows are taken in any order. How
much these differ from the table is estimated, so that parts are large enough. Splits are checked
value by value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tclose_spark.table.arrays import Codes, FloatArray, IntArray

HALF_DOUBLINGS = 2  # deviations are computed for so many sizes in each doubling, and interpolated
REALIZED = 0.5  # of the deviation of independent draws: rows of a node near to the table deviate less (measured)


class DomainBins(NamedTuple):
    """The bins of an attribute's values, and their hierarchy."""

    bin_of: IntArray  # of each value, shape (values,)
    # The node above each bin, and at each height above each node, up to the root. A bin below a
    # higher node is a node of its own up to there.
    parents: list[Codes]
    hidden: FloatArray  # the shares of the nodes inside bins, whose deviation from the table is unseen, shape (nodes,)


def bins_of(share: FloatArray, parents: Sequence[Codes], least: float) -> DomainBins:
    """Bins that all but one have at least the share `least` of the table: values that have it
    alone, then values of one parent together, then the remaining values with those of neighbouring
    nodes.

    share: of each value in the table, shape (values,); parents: the node above each node of the
        height below, for each height up to the root (a single root for equal distances).

    >>> values, tree = np.array([0.5, 0.1, 0.1, 0.1, 0.2]), [np.array([0, 0, 0, 1, 1]), np.array([0, 0])]
    >>> [array.tolist() for array in (bins_of(values, tree, 0.2).bin_of, *bins_of(values, tree, 0.2).parents)]
    [[0, 1, 1, 2, 3], [0, 0, 1, 1], [0, 0]]
    """
    above: list[IntArray] = [np.arange(len(share))]  # the node of each value, at each height
    for parent in parents:
        above.append(parent[above[-1]].astype(np.int64))
    frequent = share >= least
    groups = [[v] for v in np.flatnonzero(frequent).tolist()]
    rest = np.flatnonzero(~frequent).tolist()
    for height in range(1, len(above)):
        gathered: dict[int, list[int]] = {}
        for v in rest:
            group = gathered.setdefault(int(above[height][v]), [])
            group.append(v)
            if share[group].sum() >= least:
                groups.append(gathered.pop(int(above[height][v])))
        rest = [v for group in gathered.values() for v in group]
    groups += [rest] if rest else []
    return _tree_of(groups, np.array(above), share)


def _tree_of(groups: list[list[int]], above: IntArray, share: FloatArray) -> DomainBins:
    """Bins of these groups of values in the order of the tree, those of several values after their
    siblings.
    """
    values, hidden = above.shape[1], []
    keys = np.empty((len(above), len(groups)), dtype=np.int64)
    for number, group in enumerate(groups):
        common = int(np.argmax((above[:, group] == above[:, group[:1]]).all(axis=1)))
        keys[:common, number], keys[common:, number] = values + number, above[common:, group[0]]
        hidden += [
            np.bincount(above[height, group], weights=share[group]) for height in range(common)
        ]
    order = np.lexsort(keys)
    keys = keys[:, order]
    changes = np.maximum.accumulate(np.diff(keys, axis=1, prepend=-1)[::-1] != 0)[::-1]
    nodes = np.cumsum(changes, axis=1) - 1
    bin_of = np.empty(values, dtype=np.int64)
    for place, number in enumerate(order):
        bin_of[groups[number]] = place
    parents = [
        node[change].astype(np.int32) for node, change in zip(nodes[1:], changes[:-1], strict=True)
    ]
    return DomainBins(bin_of, parents, np.concatenate([np.zeros(0), *hidden]))


def expected_deviation(hidden: FloatArray, largest: int) -> FloatArray:
    """The expected deviation of all hidden nodes from their shares, in rows, for parts of
    0..largest rows, shape (largest + 1,).

    A node of x expected rows deviates as a Poisson variable: by nearly the root of 2 x / pi, or,
    below one row, by 2 x e^-x (here with additions, products and roots only, which all machines
    round alike).
    """
    hidden = hidden[hidden > 0]
    sizes = np.unique(np.minimum(np.cumprod(np.full(80, 2.0 ** (1 / HALF_DOUBLINGS))), largest))
    sizes = np.append(0.0, sizes)
    expected = [
        np.where(x < 1.0, 2.0 * x / (1.0 + x * (1.0 + 0.5 * x)), np.sqrt(x * (2.0 / np.pi))).sum()
        for x in (hidden * size for size in sizes)
    ]
    deviation: FloatArray = REALIZED * np.interp(np.arange(largest + 1), sizes, expected)
    return deviation
