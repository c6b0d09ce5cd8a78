"""Earth mover's distance of classes from the whole table, in exact integers.

With c the counts of a class of s records and N the counts of the table of n records, every ground
distance gives ``EMD = numerator / (scale * n * s)`` with an integer numerator (Li, Li and
Venkatasubramanian 2007, 5.1-5.2):

    equal         scale 2       sum over v of |n c_v - s N_v|
    ordered       scale m - 1   sum over i < m of |n C_i - s X_i|, C and X cumulative
    hierarchical  scale H       half the sum over nodes below the root of |n c - s N|

A numerator is at most ``scale * n * s``. Where that may pass 2^62 the arithmetic is done in
Python's integers.

A ground distance is a class here, with a line of `runfile/distances.py` that says what settings fit
it: its features say how far values are from each other, and all that plans with it or judges by it
takes it from them.

How close a class of so many rows can be to the table, if values are equally far apart.

The distance is the share of the table that a class lacks (variational distance, Li et al. 2007,
section 4): EMD = 1 - sum over values v of min(c_v / s, N_v / n). If all n rows have different
values, that is 1 - s / n.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from tclose_spark.measures.distances.bins import places_of
from tclose_spark.measures.distances.features import Features
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.table.arrays import ExactArray, FloatArray, IntArray, exact
from tclose_spark.table.domains import SensitiveDomain
from tclose_spark.table.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True)
class GroundDistance(ABC):
    """The whole table's distribution of one sensitive attribute, with a ground distance between its
    values.

    table: counts of the whole table by code, shape (m,).
    """

    table: IntArray

    @staticmethod
    @abstractmethod
    def of(
        table: IntArray,
        values: Sequence[str | None],
        hierarchy: Hierarchy | None,
    ) -> GroundDistance:
        """The distance over a domain: its rows by code, its values in order (a missing one is
        None), its hierarchy.
        """

    @property
    @abstractmethod
    def features(self) -> Features:
        """What the distance is a weighted sum of absolute differences over."""

    @property
    def scale(self) -> int:
        """EMD = numerator / (scale * n * class size)."""
        return self.features.scale // self._factor

    def numerators(self, classes: Histograms) -> ExactArray:
        """Exact numerators of the classes' distances from the table, shape (groups,)."""
        numerators = self.features.numerators(self.table, classes)
        return numerators if self._factor == 1 else numerators // self._factor

    def distances(self, classes: Histograms) -> FloatArray:
        """The classes' distances from the table as doubles, shape (groups,). Counts may be doubles,
        such as shares.
        """
        sums = self.features.numerators(self.table, classes).astype(np.float64)
        distances: FloatArray = sums / (
            self.features.scale * float(self.table.sum()) * classes.sizes
        )
        return distances

    @property
    def _factor(self) -> int:
        """What divides sums and scale: 2 of nodes below nodes, since at each of them as much comes
        up as goes down.
        """
        return 2 if self.features.parents and self.features.plain else 1


class EqualDistance(GroundDistance):
    """Any two values are at distance 1: half the sum of absolute differences (Li et al. 2007, 5.2).

    >>> distance = EqualDistance(np.array([2, 1, 1]))  # two of four people have value 0
    >>> class_ = Histograms.dense(np.array([[2, 0, 0]]))  # a class of these two
    >>> numerator = distance.numerators(class_).tolist()[0]
    >>> numerator, Fraction(numerator, distance.scale * 4 * 2)
    (8, Fraction(1, 2))
    """

    @staticmethod
    def of(
        table: IntArray,
        values: Sequence[str | None],
        hierarchy: Hierarchy | None,
    ) -> GroundDistance:
        """See GroundDistance."""
        return EqualDistance(table)

    @cached_property
    def features(self) -> Features:
        """See GroundDistance."""
        return Features(values=len(self.table), scale=2)


@dataclass(frozen=True)
class OrderedDistance(GroundDistance):
    """Values i and j are at distance |i - j| / (m - 1): the cumulative differences (Li et al. 2007,
    5.1).

    places: of each value, ascending from 0, shape (m,), if they are not 0, 1, .. m - 1. The
        distance is then that of the places, over the last one.

    The codes are the ranks of the values in the declared order. The distance of a domain of one
    value is always 0.

    >>> distance = OrderedDistance(np.ones(9, dtype=np.int64))  # salaries 3K..11K (Li et al. 2007, 5.1)
    >>> classes = Histograms.dense(np.array([[1, 1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 1, 0, 0, 1]]))
    >>> [str(Fraction(x, distance.scale * 9 * 3)) for x in distance.numerators(classes).tolist()]
    ['3/8', '1/6']
    >>> distance = OrderedDistance(np.array([1, 1, 2]), places=np.array([0, 1, 4]))  # nobody at places 2, 3
    >>> str(Fraction(int(distance.numerators(Histograms.dense(np.array([[1, 1, 0]])))[0]), distance.scale * 4 * 2))
    '7/16'
    """

    places: IntArray | None = None

    @staticmethod
    def of(
        table: IntArray,
        values: Sequence[str | None],
        hierarchy: Hierarchy | None,
    ) -> GroundDistance:
        """See GroundDistance."""
        return OrderedDistance(table)

    @cached_property
    def features(self) -> Features:
        """See GroundDistance."""
        if self.places is None:
            return Features(
                values=len(self.table),
                scale=max(len(self.table) - 1, 1),
                cumulative=True,
            )
        steps = np.diff(self.places)
        last = max(int(self.places[-1]), 1)
        return Features(values=len(self.table), scale=last, cumulative=True, weights=steps)


@dataclass(frozen=True)
class HierarchicalDistance(GroundDistance):
    """Values are as far apart as their lowest common ancestor is high (Li et al. 2007, 5.2).

    parents: H arrays; parents[0][leaf] is the node of height 1 above a leaf, parents[1][node] the
        one above that, and so on to the root. Codes at each height follow the tree's order, so the
        children of a node are consecutive.

    >>> tree = (np.array([0, 0, 1, 1]), np.array([0, 0]))  # leaves 0 and 1 below one node, 2 and 3 below another
    >>> distance = HierarchicalDistance(np.ones(4, dtype=np.int64), tree)
    >>> classes = Histograms.dense(np.array([[1, 0, 1, 0], [1, 1, 0, 0]]))  # one leaf of each node, or all of one node
    >>> [str(Fraction(x, distance.scale * 4 * 2)) for x in distance.numerators(classes).tolist()]
    ['1/4', '1/2']
    """

    parents: tuple[IntArray, ...]

    @staticmethod
    def of(
        table: IntArray,
        values: Sequence[str | None],
        hierarchy: Hierarchy | None,
    ) -> GroundDistance:
        """See GroundDistance."""
        assert hierarchy is not None
        return HierarchicalDistance(table, hierarchy.parents)

    @cached_property
    def features(self) -> Features:
        """See GroundDistance."""
        return Features(values=len(self.table), scale=2 * len(self.parents), parents=self.parents)


DISTANCES: dict[str, type[GroundDistance]] = {
    "equal": EqualDistance,
    "ordered": OrderedDistance,
    "hierarchical": HierarchicalDistance,
}
"""The class of each distance of a run file."""


def ground_distance(
    name: str,
    table: IntArray,
    values: Sequence[str | None],
    hierarchy: Hierarchy | None,
) -> GroundDistance:
    """The ground distance of this name over a domain. table: rows by code, shape (m,); values: in
    order.

    >>> type(ground_distance("ordered", np.array([2, 1]), ["low", "high"], None)).__name__
    'OrderedDistance'
    """
    return DISTANCES[name].of(table, values, hierarchy)


def distance_of(
    settings: SensitiveAttribute,
    domain: SensitiveDomain,
    hierarchy: Hierarchy | None,
) -> GroundDistance:
    """The ground distance of a sensitive attribute over its domain.

    Raises:
        InputError: if it has places, and values have none.
    """
    if settings.domain is not None:
        return OrderedDistance(
            domain.table,
            places_of(domain.name, domain.values, settings.domain).of_value,
        )
    return ground_distance(settings.distance, domain.table, domain.values, hierarchy)


def maximum(
    distance: GroundDistance,
    numerators: ExactArray,
    sizes: Sequence[int] | IntArray,
) -> Fraction:
    """The largest distance among classes, exactly: one comparison for each distinct class size.

    >>> distance = EqualDistance(np.array([2, 1, 1]))
    >>> classes = Histograms.dense(np.array([[2, 0, 0], [0, 1, 1]]))
    >>> maximum(distance, distance.numerators(classes), classes.sizes)
    Fraction(1, 2)
    """
    sizes = np.asarray(sizes)
    unit = distance.scale * int(distance.table.sum())
    return max(Fraction(int(numerators[sizes == s].max()), unit * int(s)) for s in np.unique(sizes))


def least_distance(table: IntArray, size: int) -> Fraction:
    """The least distance of a class of this many rows. Every value takes the rows that it has
    fully, s N_v / n rounded down; the other rows go to the values that lack most of a row.

    table: rows of the table by value, shape (m,).

    >>> least_distance(np.array([3, 1]), 2), least_distance(np.ones(10, dtype=np.int64), 4)
    (Fraction(1, 4), Fraction(3, 5))
    """
    n = int(table.sum())
    ideal = exact(table, 4 * n * size) * size
    floors = ideal // n
    parts = ideal - floors * n
    left = size - int(floors.sum())
    covered = int(floors.sum()) * n + int(np.sort(parts)[::-1][:left].sum())
    return 1 - Fraction(covered, n * size)


def fewest_rows(table: IntArray, t: Fraction) -> int:
    """The rows below which no class can be within t of the table: it lacks at least the values that
    no row of it has.

    >>> fewest_rows(np.ones(10, dtype=np.int64), Fraction(3, 10)), fewest_rows(np.array([9, 1]), Fraction(1, 5))
    (7, 1)
    """
    covered = [int(n) for n in np.cumsum(np.sort(table)[::-1])]
    return next(i for i, rows in enumerate(covered, start=1) if rows >= (1 - t) * covered[-1])
