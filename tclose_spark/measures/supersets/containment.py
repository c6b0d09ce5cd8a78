"""Which boxes lie in which: sums over all boxes that lie in a wider one, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tclose_spark.table.arrays import IntArray

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
                prefix[self.end] - prefix[self.start], first, axis=0
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
                    )
                )
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
