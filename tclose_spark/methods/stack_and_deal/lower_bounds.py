"""Lower bounds on the largest distance of any even partition, into classes of n // e rows or one
more.

Every ground distance is a weighted sum of differences |C / s - X / n| between the counts of a class
of s rows and those of the table of n, over features of the values (see
`measures.distances.features`). The C are integers, so a class misses its ideal s X / n by some
fraction.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tclose_spark.measures.distances.ground_distances import GroundDistance
from tclose_spark.table.arrays import ExactArray, exact


def lower_bound(distance: GroundDistance, e: int) -> Fraction:
    """A lower bound on the largest distance of every partition into e classes that is as even as
    possible.

    >>> from tclose_spark.measures.distances.ground_distances import EqualDistance
    >>> lower_bound(EqualDistance(np.array([3, 1])), 2)  # two classes of two: only one of them can have the rare value
    Fraction(1, 4)
    """
    return max(supply_bound(distance, e), forced_bound(distance, e))


def supply_bound(distance: GroundDistance, e: int) -> Fraction:
    """The bound from the mean. All classes together have the table's rows of each feature, so
    surpluses equal deficits.

    The mean is weighted by the sizes of the classes. With one size r and f the fraction of r X / n,
    it is the sum of weight 2 f (1 - f) / r.
    """
    n, features = int(distance.table.sum()), distance.features
    size, larger = divmod(n, e)
    counts = features.counts(distance.table[None, :])[0]
    table = exact(counts, 4 * n * max(n, len(counts) * e) * features.scale)
    floors, parts = zip(
        *[(size_ * table // n, size_ * table % n) for size_ in (size, size + 1)], strict=True
    )
    classes = (e - larger, larger)
    # Classes that must be above their ideal, cheapest first.
    up = table - classes[0] * floors[0] - classes[1] * floors[1]
    first = np.where(
        parts[1] > parts[0], np.minimum(up, classes[1]), up - np.minimum(up, classes[0])
    )
    missed: ExactArray = first * (n - parts[1]) + (up - first) * (n - parts[0])
    return Fraction(2 * int(features.weighted(missed).sum()), features.scale * n * n)


def forced_bound(distance: GroundDistance, e: int) -> Fraction:
    """The bound from the rarest value, or from the lowest and the highest (for cumulative
    features), which some class must have.

    None if values have nodes other than the root above them, or different weights. Either a class
    of the smaller size has a row of the value, or the few larger ones have all of them, and one has
    many.
    """
    n, features = int(distance.table.sum()), distance.features
    size, larger = divmod(n, e)
    if not features.cumulative and (features.parents or not features.even):
        return Fraction(0)
    least = _with_places if features.cumulative else _with_values
    present = np.flatnonzero(distance.table)
    values = (
        present[[0, -1]] if features.cumulative else present[[np.argmin(distance.table[present])]]
    )
    bounds = []
    for value in values.tolist():
        bound = Fraction(least(distance, value, 1, size), features.scale * n * size)
        many = -(-int(distance.table[value]) // max(larger, 1))
        if larger and many <= size + 1:
            bound = min(
                bound,
                Fraction(least(distance, value, many, size + 1), features.scale * n * (size + 1)),
            )
        bounds.append(bound)
    return max(bounds)


def _with_places(distance: GroundDistance, place: int, many: int, size: int) -> int:
    """n times the least sum of weighted differences of a class of this size that has so many rows
    of the value at this place.
    """
    n, features = int(distance.table.sum()), distance.features
    counts = features.counts(distance.table[None, :])[0]
    ideal = size * exact(counts, 4 * n * max(n, max(len(counts), features.scale) * size))
    at = np.arange(len(ideal))
    held = np.clip((2 * ideal + n) // (2 * n), many * (at >= place), size - many * (at < place))
    return int(features.weighted(np.abs(n * held - ideal)).sum())


def _with_values(distance: GroundDistance, value: int, many: int, size: int) -> int:
    """n times the least sum of differences of a class of this size that has so many rows of this
    value.
    """
    n = int(distance.table.sum())
    ideal = size * exact(distance.table, 4 * n * max(n, len(distance.table) * size))
    held = ideal // n
    held[value] = max(held[value], many)
    cost, left = int(np.abs(n * held - ideal).sum()), size - int(held.sum())
    # Of one row more.
    gains = sorted((2 * int(rest) - n for rest in (ideal - n * held) if rest > 0), reverse=True)
    return cost - sum(gains[: max(left, 0)]) + n * max(left - len(gains), -left, 0)
