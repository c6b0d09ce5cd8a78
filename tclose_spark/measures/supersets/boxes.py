"""Boxes: whether they lie apart, which of them lie in which, and which of several releases overlap.
All answers are exact; boxes are as many as a release has classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from tclose_spark.table.arrays import IntArray

FEW = 48  # boxes that are compared in pairs
AT_ONCE = 1 << 22  # pairs


@dataclass(frozen=True)
class Boxes:
    """Boxes of whole numbers, ends included.

    low, high: shape (dimensions, boxes).
    sets: of some dimensions, which values of low..high are in a box, shape (boxes, values); of
        others all are.
    """

    low: IntArray
    high: IntArray
    sets: dict[int, IntArray]

    def meet(self, one: IntArray, other: IntArray) -> IntArray:
        """Places in `one` and `other` at which both boxes have a point in common."""
        near = np.arange(len(one))
        for low, high in zip(self.low, self.high, strict=True):
            a = one[near]
            b = other[near]
            near = near[(low[a] <= high[b]) & (low[b] <= high[a])]
        for members in self.sets.values():
            near = near[(members[one[near]] & members[other[near]]).any(axis=1)]
        return near


def find_overlap(boxes: Boxes) -> tuple[int, int] | None:
    """Two boxes that have a point in common, by their places; None if all lie apart.

    The boxes are divided by a cut of one dimension: those that begin below it, those that end at it
    or above, those that do both to both sides. Two boxes that meet are together on one side. So it
    goes on until few are left, or no cut divides them; then all of them have a point in common
    (boxes of which each two meet in each dimension do), but for sets. Where boxes come from cuts, a
    cut divides none of them, and the work is n log n for each level of these.
    """
    pending = [np.arange(boxes.low.shape[1])]
    while pending:
        here = pending.pop()
        sides = _divided(boxes, here) if len(here) > FEW else None
        if sides is None:
            found = _compare(boxes, here)
            if found is not None:
                return found
        else:
            pending += sides
    return None


def _divided(boxes: Boxes, here: IntArray) -> tuple[IntArray, IntArray] | None:
    """The boxes on both sides of the cut that leaves fewest on the larger one and divides fewest;
    None if each leaves nearly all of them on one.
    """
    best = np.inf
    chosen = (0, 0)
    n = len(here)
    for axis in range(len(boxes.low)):
        low = np.sort(boxes.low[axis, here])
        high = np.sort(boxes.high[axis, here])
        cuts = np.unique(low)[1:]
        below = np.searchsorted(low, cuts)
        above = n - np.searchsorted(high, cuts)
        cost = np.maximum(below, above) + 2 * (below + above - n)
        if len(cuts) and cost.min() < best:
            best = cost.min()
            chosen = (axis, int(cuts[np.argmin(cost)]))
    if best >= n:
        return None
    axis, cut = chosen
    return here[boxes.low[axis, here] < cut], here[boxes.high[axis, here] >= cut]


def _compare(boxes: Boxes, here: IntArray) -> tuple[int, int] | None:
    """The first two of these boxes that meet, each compared with each."""
    n = len(here)
    step = max(AT_ONCE // max(len(here), 1), 1)
    for first in range(0, n, step):
        one, other = np.nonzero(
            np.arange(first, min(first + step, n))[:, None] < np.arange(n)[None, :],
        )
        one = here[one + first]
        near = boxes.meet(one, here[other])
        if len(near):
            return int(one[near[0]]), int(here[other[near[0]]])
    return None


FAN = 8  # blocks of a block
BITS = 60  # of a place along the curve


class Hulls(NamedTuple):
    """The least and the largest ends in each block of boxes, shape (axes, blocks) each."""

    least_low: IntArray
    most_low: IntArray
    least_high: IntArray
    most_high: IntArray


@dataclass(frozen=True)
class Runs:
    """The boxes inside some wider ones, as runs of the index's order.

    of: the wider box of each run, ascending; start, end: the run, its end excluded. Shapes (runs,).
    """

    of: IntArray
    start: IntArray
    end: IntArray

    def sums(self, prefix: IntArray, boxes: int) -> IntArray:
        """The sum over the boxes inside each of the wider ones, (boxes, ...), of what has these
        sums up to each place of the order (see `BoxIndex.prefix`).
        """
        result = np.zeros((boxes, *prefix.shape[1:]), dtype=prefix.dtype)
        if len(self.of):
            first = np.flatnonzero(np.diff(self.of, prepend=-1))
            result[self.of[first]] = np.add.reduceat(
                prefix[self.end] - prefix[self.start],
                first,
                axis=0,
            )
        return result


@dataclass(frozen=True)
class BoxIndex:
    """Boxes in the order of a curve through their centres, in blocks, and blocks of these.

    order: the boxes along the curve, shape (boxes,). levels: from single boxes to a few blocks.

    >>> index = BoxIndex.of(np.array([[1, 5, 2]]), np.array([[3, 9, 2]]))
    >>> runs = index.inside(np.array([[1, 2]]), np.array([[3, 9]]))
    >>> runs.sums(index.prefix(np.array([10, 20, 30])), 2).tolist()
    [40, 50]
    """

    order: IntArray
    levels: list[Hulls]

    @staticmethod
    def of(low: IntArray, high: IntArray) -> BoxIndex:
        """The index of boxes with these ends, included, of whole numbers, shape (axes, boxes)
        each.
        """
        order = np.argsort(_places(low + high), kind="stable")
        levels = [Hulls(low[:, order], low[:, order], high[:, order], high[:, order])]
        while (blocks := levels[-1].least_low.shape[1]) > FAN:
            starts = np.arange(0, blocks, FAN)
            ways = (np.minimum, np.maximum, np.minimum, np.maximum)
            levels.append(
                Hulls(
                    *(
                        way.reduceat(ends, starts, axis=1)
                        for way, ends in zip(ways, levels[-1], strict=True)
                    ),
                ),
            )
        return BoxIndex(order, levels)

    def prefix(self, values: IntArray) -> IntArray:
        """Sums of what each box has, (boxes, ...), over those before each place of the order,
        (boxes + 1, ...).
        """
        prefix = np.zeros((len(values) + 1, *values.shape[1:]), dtype=np.int64)
        np.cumsum(values[self.order], axis=0, out=prefix[1:])
        return prefix

    def inside(self, low: IntArray, high: IntArray) -> Runs:
        """The boxes that lie inside wider ones with these ends, shape (axes, wider boxes) each."""
        wide = low.shape[1]
        count = self.levels[-1].least_low.shape[1]
        of = np.repeat(np.arange(wide), count)
        block = np.tile(np.arange(count), wide)
        found = []
        for level in range(len(self.levels) - 1, -1, -1):
            hulls = self.levels[level]
            span = FAN**level
            within = np.ones(len(of), dtype=bool)
            apart = np.zeros(len(of), dtype=bool)
            for axis in range(len(low)):
                first = low[axis, of]
                last = high[axis, of]
                within &= (hulls.least_low[axis, block] >= first) & (
                    hulls.most_high[axis, block] <= last
                )
                apart |= (hulls.most_low[axis, block] < first) | (
                    hulls.least_high[axis, block] > last
                )
            start = block[within] * span
            found.append((of[within], start, np.minimum(start + span, len(self.order))))
            if level:
                partly = ~within & ~apart
                of = np.repeat(of[partly], FAN)
                block = (block[partly][:, None] * FAN + np.arange(FAN)).reshape(-1)
                there = block < self.levels[level - 1].least_low.shape[1]
                of = of[there]
                block = block[there]
        owner, starts, ends = (np.concatenate(parts) for parts in zip(*found, strict=True))
        together = np.argsort(owner, kind="stable")
        return Runs(owner[together], starts[together], ends[together])


def _places(points: IntArray) -> IntArray:
    """The places of points along a curve on which near ones are often near: their bits in turn
    (Morton 1966).
    """
    bits = min(BITS // len(points), 20)
    points = points - points.min(axis=1, keepdims=True)
    scaled = points * ((1 << bits) - 1) // np.maximum(points.max(axis=1, keepdims=True), 1)
    places = np.zeros(points.shape[1], dtype=np.int64)
    for bit in range(bits - 1, -1, -1):
        for along in scaled:
            places = places << 1 | (along >> bit & 1)
    return places


PAIRS_AT_ONCE = 1 << 22


def overlapping_groups(
    low: IntArray,
    high: IntArray,
    owner: IntArray,
    release: IntArray,
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
                coo_array(edges, shape=(groups, groups)),
                directed=False,
            )
            group = merged[group].astype(np.int64)
            if found == 1:
                return group
    return group
