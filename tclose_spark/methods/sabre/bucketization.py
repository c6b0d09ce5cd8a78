"""SABRE's first phase: values of the sensitive attribute are put into buckets (Cao et al. 2011;
Weber, 2.3.4).

The search starts with one bucket of all values. It splits buckets until the bound is below t: the
sum over buckets of their share of the rows times Delta, the farthest that rows can move inside one
(`methods.dealing.fragment_diameter`). Each step takes the split that lowers the bound most, the
first of equal ones.

    numbers, any order   a bucket is a stretch of values, cut in two anywhere
    hierarchies          a bucket is the values below a node, split into all the children of the
                         node
    equal distances      a hierarchy of one level: all values, or each by itself

Delta is exact: the distance is convex, so it is largest where all rows of a bucket have one value.
A bucket whose bound is t leaves no room for rounding, so the sum has to be below t.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tclose_spark.measures.distances.ground_distances import GroundDistance
from tclose_spark.methods.dealing.fragment_diameter import FragmentDiameter, diameter_of
from tclose_spark.table.arrays import IntArray

CHUNK = 1 << 22  # entries of a dense table of halves held at once: 32 MiB

Split = tuple[int, list[IntArray]]
"""(by how much a split lowers the bound, in the diameter's units; the buckets that it makes)."""


def bucketize(distance: GroundDistance, limit: Fraction) -> IntArray:
    """The bucket of each value, shape (m,), numbered in the order of their first values; of values
    that no row has, 0.

    >>> from tclose_spark.measures.distances.ground_distances import OrderedDistance
    >>> salaries = OrderedDistance(np.array([1, 1, 1, 1, 4, 4]))
    >>> bucketize(salaries, Fraction(1, 10)).tolist()
    [0, 0, 1, 1, 2, 3]
    """
    diameter, n = diameter_of(distance), int(distance.table.sum())
    buckets = [np.flatnonzero(distance.table)]
    splits = [_best_split(buckets[0], distance, diameter)]
    bound = _weighted(buckets[0], distance, diameter)
    while bound and Fraction(bound, diameter.scale * n) >= limit:
        best = max(range(len(buckets)), key=lambda b: (splits[b][0], -b))
        lowered, made = splits[best]
        bound -= lowered
        buckets[best : best + 1] = made
        splits[best : best + 1] = [_best_split(codes, distance, diameter) for codes in made]
    bucket_of = np.zeros(len(distance.table), dtype=np.int64)
    for number, codes in enumerate(sorted(buckets, key=lambda codes: int(codes[0]))):
        bucket_of[codes] = number
    return bucket_of


def _weighted(codes: IntArray, distance: GroundDistance, diameter: FragmentDiameter) -> int:
    """The row-weighted Delta of the bucket of these codes."""
    return int(diameter.weighted(codes, distance.table[codes][None, :])[0])


def _best_split(codes: IntArray, distance: GroundDistance, diameter: FragmentDiameter) -> Split:
    """The best split of a bucket; its gain is -1 if the bucket has one value."""
    if len(codes) == 1:
        return -1, []
    whole = _weighted(codes, distance, diameter)
    if not distance.features.cumulative:
        units = diameter.units(codes, distance.table[codes])
        made = [codes[units == unit] for unit in np.unique(units)]
        return whole - sum(_weighted(part, distance, diameter) for part in made), made
    left = np.empty(len(codes) - 1, dtype=object)
    step = max(CHUNK // len(codes), 1)
    held = distance.table[codes]
    for first in range(0, len(left), step):
        cuts = np.arange(first, min(first + step, len(left)))
        below = np.where(np.arange(len(codes)) <= cuts[:, None], held, 0)
        left[cuts] = diameter.weighted(codes, below) + diameter.weighted(codes, held - below)
    cut = int(np.argmin(left))
    return whole - int(left[cut]), [codes[: cut + 1], codes[cut + 1 :]]
