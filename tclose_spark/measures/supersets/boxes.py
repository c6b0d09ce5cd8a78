"""Whether boxes lie apart: an exact test that divides them, as many as a release has classes."""

from __future__ import annotations

from dataclasses import dataclass

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
            np.arange(first, min(first + step, n))[:, None] < np.arange(n)[None, :]
        )
        one = here[one + first]
        near = boxes.meet(one, here[other])
        if len(near):
            return int(one[near[0]]), int(here[other[near[0]]])
    return None
