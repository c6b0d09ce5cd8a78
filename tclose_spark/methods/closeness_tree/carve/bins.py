"""Bins of a wide domain, by which the tree is grown in place of its values: work then does not grow with the domain.

A bin is a frequent value, or rare ones near to each other, whose rows are taken as they come. By how much these will
differ from the table is foretold, so that parts are made large enough; what is kept is checked value by value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tclose_spark.table.arrays import Codes, FloatArray, IntArray

HALF_DOUBLINGS = 2  # deviations are worked out for so many sizes in a doubling, and interpolated
REALIZED = 0.5  # of what independent draws would deviate: less of rows from a node that is like the table (measured)


class DomainBins(NamedTuple):
    """bin_of: of each value, shape (values,).
    parents: the node above each bin, and at each height above each node, up to the root; a bin that hangs below a
        higher node is a node of its own up to there.
    hidden: the shares of the nodes inside bins, which differ from the table unseen, shape (hidden nodes,).
    """

    bin_of: IntArray
    parents: list[Codes]
    hidden: FloatArray


def bins_of(share: FloatArray, parents: Sequence[Codes], least: float) -> DomainBins:
    """Bins of at least the share `least`, all but the last one: values that have it by themselves; the others of one
    parent, as many together as it takes; those left over, with the ones left over of the nodes next to theirs.

    share: of each value in the table, shape (values,); parents: the node at each height, up to the root, above each
    node of the height below (of values that are all equally far: one root).

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
    """The bins of these groups of values, in the order of the tree, those of several values after their siblings."""
    values, hidden = above.shape[1], []
    keys = np.empty((len(above), len(groups)), dtype=np.int64)
    for number, group in enumerate(groups):
        common = int(np.argmax((above[:, group] == above[:, group[:1]]).all(axis=1)))
        keys[:common, number], keys[common:, number] = values + number, above[common:, group[0]]
        hidden += [np.bincount(above[height, group], weights=share[group]) for height in range(common)]
    order = np.lexsort(keys)
    keys = keys[:, order]
    changes = np.maximum.accumulate(np.diff(keys, axis=1, prepend=-1)[::-1] != 0)[::-1]
    nodes = np.cumsum(changes, axis=1) - 1
    bin_of = np.empty(values, dtype=np.int64)
    for place, number in enumerate(order):
        bin_of[groups[number]] = place
    parents = [node[change].astype(np.int32) for node, change in zip(nodes[1:], changes[:-1], strict=True)]
    return DomainBins(bin_of, parents, np.concatenate([np.zeros(0), *hidden]))


def expected_deviation(hidden: FloatArray, largest: int) -> FloatArray:
    """By how many rows the hidden nodes of a part differ from their shares, together, in rows taken as they come; for
    parts of 0..largest rows, shape (largest + 1,).

    A node of x expected rows is off by the mean deviation of a Poisson variable, nearly the root of 2 x / pi, or, below
    one row, 2 x e^-x (here by additions, products and roots only, which all machines round alike).
    """
    hidden = hidden[hidden > 0]
    sizes = np.unique(np.minimum(np.cumprod(np.full(80, 2.0 ** (1 / HALF_DOUBLINGS))), largest))
    sizes = np.append(0.0, sizes)
    expected = [
        np.where(x < 1.0, 2.0 * x / (1.0 + x * (1.0 + 0.5 * x)), np.sqrt(x * (2.0 / np.pi))).sum()
        for x in (hidden * size for size in sizes)
    ]
    unseen: FloatArray = REALIZED * np.interp(np.arange(largest + 1), sizes, expected)
    return unseen
