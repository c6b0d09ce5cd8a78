"""Groups of boxes of several releases that overlap."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from tclose_spark.table.arrays import IntArray

PAIRS_AT_ONCE = 1 << 22


def overlapping_groups(
    low: IntArray, high: IntArray, owner: IntArray, release: IntArray
) -> IntArray:
    """The group of each class: classes of different releases that overlap are in one, and so are
    those that others connect. Groups are numbered from 0. Shape (classes,).

    low, high: the ends of each box, included, shape (boxes, axes).
    owner: its class, (boxes,).
    release: that of each class, (classes,).

    >>> ends = np.array([[0], [5], [4], [9]])
    >>> overlapping_groups(ends, ends + 3, np.arange(4), np.array([0, 0, 1, 1])).tolist()
    [0, 1, 1, 2]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    group: IntArray = np.arange(len(release))
    for first, second in combinations(np.unique(release).tolist(), 2):
        here, there = (np.flatnonzero(release[owner] == one) for one in (first, second))
        step = max(1, PAIRS_AT_ONCE // len(there))
        for start in range(0, len(here), step):
            some = here[start : start + step]
            touching = np.ones((len(some), len(there)), dtype=np.bool_)
            for axis in range(low.shape[1]):
                touching &= low[some, axis][:, None] <= high[there, axis]
                touching &= high[some, axis][:, None] >= low[there, axis]
            one, other = np.nonzero(touching)
            groups = int(group.max()) + 1
            pairs = np.unique(group[owner[some[one]]] * groups + group[owner[there[other]]])
            edges = (np.ones(len(pairs), dtype=np.int8), (pairs // groups, pairs % groups))
            found, merged = connected_components(
                coo_array(edges, shape=(groups, groups)), directed=False
            )
            group = merged[group].astype(np.int64)
            if found == 1:
                return group
    return group
