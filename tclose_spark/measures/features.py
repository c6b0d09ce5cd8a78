"""Every ground distance as a weighted sum of absolute differences.

EMD = (sum over features of | C / s - X / n |) / z, with C a class's rows that have the feature, of s, and X the
table's, of n. The features of an ordered distance are the values up to each place but the last (z = m - 1), of an equal
one the values (z = 2), of a hierarchical one the nodes of each height below the root (z = 2 H: a value that becomes
another travels up from its leaf and down again, half a step at each node). So equal is a hierarchy of one step. (Li et
al. 2007, 3.1 and 3.2.)
"""

from __future__ import annotations

import numpy as np

from tclose_spark.measures.distances import GroundDistance, HierarchicalDistance, OrderedDistance
from tclose_spark.table.arrays import IntArray


def feature_scale(distance: GroundDistance) -> int:
    """z above.

    >>> feature_scale(OrderedDistance(np.array([3, 1, 2, 4])))
    3
    """
    return distance.scale if isinstance(distance, OrderedDistance) else 2 * len(nodes_of(distance))


def feature_counts(distance: GroundDistance, counts: IntArray) -> IntArray:
    """Rows that have each feature, (groups, m) -> (groups, features); the nodes of a hierarchy from the leaves up.

    >>> feature_counts(OrderedDistance(np.array([3, 1, 2])), np.array([[3, 1, 2]])).tolist()
    [[3, 4]]
    """
    if isinstance(distance, OrderedDistance):
        return np.cumsum(counts, axis=1)[:, :-1]
    levels = [counts]
    for parent in distance.parents[:-1] if isinstance(distance, HierarchicalDistance) else ():
        starts = np.flatnonzero(np.diff(parent, prepend=-1))
        levels.append(np.add.reduceat(levels[-1], starts, axis=1))
    return np.concatenate(levels, axis=1)


def nodes_of(distance: GroundDistance) -> IntArray:
    """The node of each value at each height below the root, shape (heights, m); of an equal or ordered distance the
    values themselves.

    >>> nodes_of(HierarchicalDistance(np.array([3, 1, 2]), (np.array([0, 0, 1]), np.array([0, 0])))).tolist()
    [[0, 1, 2], [0, 0, 1]]
    """
    nodes = [np.arange(len(distance.table))]
    for parent in distance.parents[:-1] if isinstance(distance, HierarchicalDistance) else ():
        nodes.append(parent[nodes[-1]])
    return np.stack(nodes)
