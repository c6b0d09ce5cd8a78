"""Earth mover's distance of classes from the whole table, in exact integers.

With c the counts of a class of s records and N the counts of the table of n records, every ground distance
gives ``EMD = numerator / (scale * n * s)`` with an integer numerator (Li, Li and Venkatasubramanian 2007, 3.1-3.2):

    equal         scale 2       sum over v of |n c_v - s N_v|
    ordered       scale m - 1   sum over i < m of |n C_i - s X_i|, C and X cumulative
    hierarchical  scale H       sum over inner nodes of height * min(positive extra, negative extra) below the node

A numerator is at most ``scale * n * s``. Where that may pass 2^62 the arithmetic is done in Python's integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np

from tclose_spark.measures.histograms import Histograms
from tclose_spark.table.arrays import ExactArray, IntArray
from tclose_spark.table.hierarchy import Hierarchy

WIDEST = 1 << 62


class GroundDistance(Protocol):
    """The whole table's distribution of one sensitive attribute, with a ground distance between its values."""

    @property
    def table(self) -> IntArray:
        """Counts of the whole table by code, shape (m,)."""
        ...

    @property
    def scale(self) -> int:
        """EMD = numerator / (scale * n * class size)."""
        ...

    def numerators(self, classes: Histograms) -> ExactArray:
        """Exact numerators of the classes' distances from the table, shape (groups,)."""
        ...


def exact(array: IntArray, bound: int) -> ExactArray:
    """`array` as it is where no result passes `bound` < 2^62, else as Python integers."""
    return array if bound < WIDEST else array.astype(object)


def _bound(distance: GroundDistance, classes: Histograms) -> int:
    """No intermediate result of a numerator is larger (a factor 4 covers sums of both signs)."""
    return 4 * max(distance.scale, len(distance.table)) * int(distance.table.sum()) * int(classes.sizes.max())


@dataclass(frozen=True)
class EqualDistance:
    """Any two values are at distance 1: half the sum of absolute differences (Li et al. 2007, 3.2).

    >>> distance = EqualDistance(np.array([2, 1, 1]))  # two of four people have value 0
    >>> class_ = Histograms.dense(np.array([[2, 0, 0]]))  # a class of these two
    >>> numerator = distance.numerators(class_).tolist()[0]
    >>> numerator, Fraction(numerator, distance.scale * 4 * 2)
    (8, Fraction(1, 2))
    """

    table: IntArray

    @property
    def scale(self) -> int:
        """See GroundDistance."""
        return 2

    def numerators(self, classes: Histograms) -> ExactArray:
        """See GroundDistance. Values that a class lacks add up to s * (n - their rows that it has)."""
        bound = _bound(self, classes)
        n, sizes = int(self.table.sum()), exact(classes.sizes, bound)
        expected = np.repeat(sizes, classes.entries_of) * exact(self.table, bound)[classes.values]
        excess = np.abs(n * exact(classes.counts, bound) - expected) - expected
        numerators: ExactArray = np.add.reduceat(excess, classes.starts) + n * sizes
        return numerators


@dataclass(frozen=True)
class OrderedDistance:
    """Values i and j are at distance |i - j| / (m - 1): the cumulative differences (Li et al. 2007, 3.1).

    The codes are the ranks of the values in the declared order.

    >>> distance = OrderedDistance(np.ones(9, dtype=np.int64))  # salaries 3K..11K (Li et al. 2007, example of 3.1)
    >>> classes = Histograms.dense(np.array([[1, 1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 1, 0, 0, 1]]))
    >>> [str(Fraction(x, distance.scale * 9 * 3)) for x in distance.numerators(classes).tolist()]
    ['3/8', '1/6']
    """

    table: IntArray

    @property
    def scale(self) -> int:
        """See GroundDistance; 1 for a domain of one value, whose distance is always 0."""
        return max(len(self.table) - 1, 1)

    def numerators(self, classes: Histograms) -> ExactArray:
        """See GroundDistance.

        Between two values that a class has, its cumulative count C stays while the table's X_i grows, so the
        absolute differences of the stretch follow from prefix sums of X, cut where s X_i passes n C: the work
        is proportional to the entries, whatever the size of the domain.
        """
        bound = _bound(self, classes)
        n, last = int(self.table.sum()), len(self.table) - 1
        cumulative = np.cumsum(self.table)[:-1]
        prefix = exact(np.concatenate([[0], np.cumsum(exact(cumulative, bound))]), bound)

        # Stretches: one before the first entry of a class (C = 0) and one after each entry.
        entries = classes.entries_of
        first = classes.starts + np.arange(classes.groups)
        after = np.arange(len(classes.values)) + classes.owner + 1
        start = np.zeros(len(classes.values) + classes.groups, dtype=np.int64)
        start[after] = np.minimum(classes.values, last)
        end = np.append(start[1:], last)
        end[first[1:] - 1] = last
        reached = np.cumsum(classes.counts)
        reached -= np.repeat(reached[classes.starts] - classes.counts[classes.starts], entries)
        held = np.zeros(len(start), dtype=np.int64)
        held[after] = reached

        sizes = exact(np.repeat(classes.sizes, entries + 1), bound)
        mass = n * exact(held, bound)
        cut = np.searchsorted(cumulative, (mass // sizes).astype(np.int64), side="right")
        cut = np.clip(cut, start, end)
        below = mass * (cut - start) - sizes * (prefix[cut] - prefix[start])
        above = sizes * (prefix[end] - prefix[cut]) - mass * (end - cut)
        return np.add.reduceat(below + above, first)


@dataclass(frozen=True)
class HierarchicalDistance:
    """Values are as far apart as their lowest common ancestor is high (Li et al. 2007, 3.2).

    parents: H arrays; parents[0][leaf] is the node of height 1 above a leaf, parents[1][node] the one above that,
    and so on to the root. Codes at each height follow the tree's order, so the children of a node are consecutive.

    >>> tree = (np.array([0, 0, 1, 1]), np.array([0, 0]))  # leaves 0 and 1 below one node, 2 and 3 below another
    >>> distance = HierarchicalDistance(np.ones(4, dtype=np.int64), tree)
    >>> classes = Histograms.dense(np.array([[1, 0, 1, 0], [1, 1, 0, 0]]))  # one leaf of each node, or all of one node
    >>> [str(Fraction(x, distance.scale * 4 * 2)) for x in distance.numerators(classes).tolist()]
    ['1/4', '1/2']
    """

    table: IntArray
    parents: tuple[IntArray, ...]

    @property
    def scale(self) -> int:
        """See GroundDistance."""
        return len(self.parents)

    @cached_property
    def node_counts(self) -> list[IntArray]:
        """Counts of the table at each height 0..H, leaves first, each of shape (nodes,)."""
        levels = [self.table]
        for parent in self.parents:
            above = np.zeros(int(parent.max()) + 1, dtype=np.int64)
            np.add.at(above, parent, levels[-1])
            levels.append(above)
        return levels

    def numerators(self, classes: Histograms) -> ExactArray:
        """See GroundDistance. Children that a class lacks have negative extra only, so those it has suffice."""
        bound = _bound(self, classes)
        n, sizes = int(self.table.sum()), exact(classes.sizes, bound)
        owner, node, count = classes.owner, classes.values, exact(classes.counts, bound)
        total: ExactArray = exact(np.zeros(classes.groups, dtype=np.int64), bound)
        extra = n * count - sizes[owner] * exact(self.node_counts[0], bound)[node]
        for height, parent in enumerate(self.parents, start=1):
            node = parent[node]
            first = np.flatnonzero(np.concatenate([[True], (owner[1:] != owner[:-1]) | (node[1:] != node[:-1])]))
            positive = np.add.reduceat(np.maximum(extra, 0), first)
            count = np.add.reduceat(count, first)
            owner, node = owner[first], node[first]
            extra = n * count - sizes[owner] * exact(self.node_counts[height], bound)[node]
            cost = height * np.minimum(positive, positive - extra)
            total += np.add.reduceat(cost, np.searchsorted(owner, np.arange(classes.groups)))
        return total


def maximum(distance: GroundDistance, numerators: ExactArray, sizes: Sequence[int] | IntArray) -> Fraction:
    """The largest distance among classes, exactly: one comparison for each distinct class size.

    >>> distance = EqualDistance(np.array([2, 1, 1]))
    >>> classes = Histograms.dense(np.array([[2, 0, 0], [0, 1, 1]]))
    >>> maximum(distance, distance.numerators(classes), classes.sizes)
    Fraction(1, 2)
    """
    sizes = np.asarray(sizes)
    unit = distance.scale * int(distance.table.sum())
    return max(Fraction(int(numerators[sizes == s].max()), unit * int(s)) for s in np.unique(sizes))


def ground_distance(table: IntArray, ordered: bool, hierarchy: Hierarchy | None) -> GroundDistance:
    """The ground distance over a table's distribution: ordered, of a hierarchy, or equal. table: shape (m,), in domain
    order.

    >>> type(ground_distance(np.array([2, 1]), ordered=True, hierarchy=None)).__name__
    'OrderedDistance'
    """
    if ordered:
        return OrderedDistance(table)
    return EqualDistance(table) if hierarchy is None else HierarchicalDistance(table, hierarchy.parents)
