"""(n, t)-closeness (Li, Li and Venkatasubramanian 2010; Weber 2.2.3): the natural supersets that prove classes, among
the boxes of the space of labels.

A class holds if it is at most t away from a natural superset of at least n records: all records of the classes whose
labels lie in a box that holds its own. A box is of each quasi-identifier an interval, a node of the hierarchy, a set of
values that follow each other, a missing value, or `*`. A class lies in a box if each of its labels does, whatever its
text. The search looks for boxes in two ways:

- cuts: a line across a box that runs through no label in it leaves two boxes, each with the classes on its side. They
  find the steps of whoever cut a table along lines.
- widenings: the labels of a class are widened step by step, one quasi-identifier more than another. Where labels
  overlap there are few cuts, and widenings remain.

What holds is proven by the box that is named; where none is found there may be another one.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose_spark.measures.distances.ground_distances import GroundDistance
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.measures.exact import exact
from tclose_spark.measures.supersets.containment import BoxIndex
from tclose_spark.measures.supersets.label_axes import LabelAxis
from tclose_spark.table.arrays import ExactArray, FloatArray, IntArray

MOST_BOXES = 100_000
"""That are looked at among cuts, and again among widenings."""
FEWEST = 4
"""Widenings of each class that are looked at however many classes there are."""
MOST_COUNTS = 1 << 25
"""Of values of classes, that are held for widenings."""
AT_ONCE = 1 << 20  # numbers of an array
Heights = tuple[int, ...]
BoolArray = NDArray[np.bool_]


def nearness(
    distance: GroundDistance, t: Fraction, superset: IntArray, classes: Histograms
) -> tuple[BoolArray, FloatArray]:
    """(whether classes are at most t away from a superset, exactly; how far they are, to read), shape (classes,) each.

    superset: its records by value, over the domain of the distance, shape (m,).

    >>> from tclose_spark.measures.distances.ground_distances import EqualDistance
    >>> classes = Histograms.dense(np.array([[2, 0], [1, 2]]))
    >>> near, far = nearness(EqualDistance(np.array([3, 9])), Fraction(1, 4), np.array([3, 1]), classes)
    >>> near.tolist(), far.round(3).tolist()
    ([True, False], [0.25, 0.417])
    """
    over = replace(distance, table=superset)
    return _compared(over.numerators(classes), over.scale * int(superset.sum()), classes.sizes, t)


def _compared(
    numerators: ExactArray, units: int | IntArray, sizes: IntArray, t: Fraction
) -> tuple[BoolArray, FloatArray]:
    """Whether numerators / (units * sizes) are at most t, exactly, and these distances."""
    bound = 2 * int(np.max(units)) * int(sizes.max()) * max(t.numerator, t.denominator)
    numerators = exact(numerators, bound)
    denominators = exact(sizes, bound) * (exact(units, bound) if isinstance(units, np.ndarray) else units)
    near = np.asarray(numerators * t.denominator <= denominators * t.numerator, dtype=np.bool_)
    return near, (numerators / denominators).astype(np.float64)


@dataclass(frozen=True)
class ProofTarget:
    """What is asked of the classes for one sensitive attribute.

    classes: their records by value; distance: over this domain.
    open: which of them have no proof yet, shape (classes,).
    """

    distance: GroundDistance
    t: Fraction
    classes: Histograms
    open: BoolArray

    @property
    def counts(self) -> int:
        """Values of all classes."""
        return self.classes.groups * len(self.distance.table)


class Cut(NamedTuple):
    """The classes of a box in an order in which its parts follow each other, and where these begin and end.

    records: of the largest part.
    """

    records: int
    axis: int
    order: IntArray
    parts: list[tuple[int, int]]


@dataclass(frozen=True)
class BestBoxes:
    """What was found of the classes for one attribute.

    proven: whether they have a superset that proves them. low, high: the ends of the box that does, or of the nearest
        box, else of the class, shape (axes, classes). records: in it, 0 where no box was looked at; emd: of the class
        from it, to read. Shape (classes,).
    """

    proven: BoolArray
    low: IntArray
    high: IntArray
    records: IntArray
    emd: FloatArray


class BoxSearch:
    """Looks for supersets of classes.

    axes: of the quasi-identifiers. sizes: records of each class, shape (classes,). near: by sensitive attribute.
    n: records of a superset.
    found: for each attribute. looked_at: boxes.
    """

    def __init__(self, axes: Sequence[LabelAxis], sizes: IntArray, near: Sequence[ProofTarget], n: int) -> None:
        self.axes, self.sizes, self.near, self.n = axes, sizes, near, n
        self.looked_at = 0
        self._low, self._high = (np.stack([getattr(axis, end) for axis in axes]) for end in ("low", "high"))
        self._open = [of.open.copy() for of in near]
        self._known: set[bytes] = set()
        classes = len(sizes)
        self.found = [
            BestBoxes(
                np.zeros(classes, dtype=np.bool_),
                self._low.astype(np.int32),
                self._high.astype(np.int32),
                np.zeros(classes, dtype=np.int64),
                np.full(classes, np.inf),
            )
            for _ in near
        ]

    def run(self, most: int = MOST_BOXES) -> bool:
        """Looks; whether no box that it knows of is left, or no class without a proof."""
        if int(self.sizes.sum()) < self.n or not self._asking.any():
            return True
        return (self._cut(most) & self._widen(most)) or not self._asking.any()

    @property
    def _asking(self) -> BoolArray:
        """The classes that lack a proof for some attribute."""
        asking: BoolArray = np.any(self._open, axis=0)
        return asking

    # --- cuts

    def _cut(self, most: int) -> bool:
        """Looks at the boxes that cuts leave: from the whole table inwards, in each box along the most even line first,
        and along others as long as a class inside has no proof. A part is allowed its share of the boxes that are left.
        """
        everything, complete = np.arange(len(self.sizes)), True
        pending = [(self._parts_of(everything), most)] if self._enter(everything) else []
        while pending:
            parts, stop = pending[-1]
            part, share = next(parts, (None, 0.0))
            if part is None or self.looked_at >= stop:
                complete &= part is None
                pending.pop()
            elif self._enter(part):
                pending.append((self._parts_of(part), self.looked_at + math.ceil((stop - self.looked_at) * share)))
        return complete

    def _enter(self, here: IntArray) -> bool:
        """Looks at the box of these classes, which are all that lie in it; whether to look inside."""
        low, high = self._low[:, here].min(axis=1), self._high[:, here].max(axis=1)
        everything = (low == -1) & (high >= 0)  # what is missing and what is not
        high = np.where(everything, [axis.ranks for axis in self.axes], high)
        key = np.concatenate([low, high]).tobytes()
        if key in self._known or not self._is_open(here):
            return False
        self._known.add(key)
        self.looked_at += 1
        records = int(self.sizes[here].sum())
        for place, (near, still) in enumerate(zip(self.near, self._open, strict=True)):
            asking = here[still[here]]
            if len(asking):
                superset = near.classes.take(here).total(len(near.distance.table))
                proves, emd = nearness(near.distance, near.t, superset, near.classes.take(asking))
                self._keep(place, asking, low[:, None], high[:, None], np.full(len(asking), records), proves, emd)
        return self._is_open(here)

    def _parts_of(self, here: IntArray) -> Iterator[tuple[IntArray, float]]:
        """The parts of a box that have n records, with their share of its records, cut after cut, while any of its
        classes has no proof.
        """
        records = int(self.sizes[here].sum())
        cuts = [self._cuts(place, axis, here) for place, axis in enumerate(self.axes)]
        for cut in heapq.merge(*cuts, key=lambda cut: cut[:2]):
            for first, last in cut.parts:
                if not self._is_open(here):
                    return
                part = cut.order[first:last]
                yield part, int(self.sizes[part].sum()) / records

    def _cuts(self, place: int, axis: LabelAxis, here: IntArray) -> Iterator[Cut]:
        """The cuts of a box across one quasi-identifier, the most even one first.

        What is missing is beside all numbers and values, and comes apart from them first; but `*` holds it, so that it
        is one of the parts of a tree below its root.
        """
        low, high = axis.low[here], axis.high[here]
        missing = high == -1
        if missing.all() or (~missing & (low == -1)).any():
            return
        if axis.nodes:
            first, last = low[~missing].min(), high.max()
            height = next(h for h, node in enumerate(axis.nodes) if node[first] == node[last])
            if not missing.any() or height == len(axis.nodes) - 1:
                if height == 0:
                    return
                node = axis.nodes[height - 1]
                if (node[low] != node[high]).any():
                    return
                part = np.where(missing, -1, node[low])
            else:
                part = missing.astype(np.int64)
        elif missing.any():
            part = missing.astype(np.int64)
        else:
            yield from self._gaps(place, here, low, high)
            return
        order = np.argsort(part, kind="stable")
        starts = np.flatnonzero(np.diff(part[order], prepend=part[order[0]] - 1))
        records = np.add.reduceat(self.sizes[here[order]], starts)
        ends = np.append(starts[1:], len(here))
        parts = [(int(starts[i]), int(ends[i])) for i in np.flatnonzero(records >= self.n)]
        if len(starts) > 1 and parts:
            yield Cut(int(records.max()), place, here[order], parts)

    def _gaps(self, place: int, here: IntArray, low: IntArray, high: IntArray) -> Iterator[Cut]:
        order = np.argsort(low, kind="stable")
        reached = np.maximum.accumulate(high[order])
        at = np.flatnonzero(low[order][1:] > reached[:-1]) + 1
        total = np.cumsum(self.sizes[here[order]])
        below = total[at - 1]
        largest = np.maximum(below, total[-1] - below)
        for i in np.argsort(largest, kind="stable"):
            sides = [(0, int(at[i]), below[i]), (int(at[i]), len(here), total[-1] - below[i])]
            parts = [(first, last) for first, last, records in sides if records >= self.n]
            if parts:
                yield Cut(int(largest[i]), place, here[order], parts)

    def _is_open(self, here: IntArray) -> bool:
        return any(bool(still[here].any()) for still in self._open)

    # --- widenings

    def _widen(self, most: int) -> bool:
        """Looks at the boxes that hold the labels of open classes, widened; whether all heights were tried."""
        asking = np.flatnonzero(self._asking)
        if not len(asking):
            return True
        if sum(of.counts for of in self.near) > MOST_COUNTS:
            return False
        tops = [axis.heights for axis in self.axes]
        vectors, every = heights_to_try(tops, max(most // len(asking), FEWEST)), count_heights(tops)
        if not vectors:
            return every == 0
        index = BoxIndex.of(self._low, self._high)
        sizes = index.prefix(self.sizes)
        dense = [_dense(of) for of in self.near]
        counts = [index.prefix(table) for table in dense]
        step = max(1, AT_ONCE // (64 * max(table.shape[1] for table in dense)))
        for heights in vectors:
            asking = asking[self._asking[asking]]
            for start in range(0, len(asking), step):
                self._look(asking[start : start + step], heights, index, sizes, dense, counts)
        return len(vectors) == every

    def _look(
        self,
        ones: IntArray,
        heights: Heights,
        index: BoxIndex,
        sizes: IntArray,
        dense: Sequence[IntArray],
        counts: Sequence[IntArray],
    ) -> None:
        """Looks at the boxes that these classes are in when their labels are widened by these heights."""
        ends = [axis.widened(ones, height) for axis, height in zip(self.axes, heights, strict=True)]
        low, high = np.stack([low for low, _ in ends]), np.stack([high for _, high in ends])
        self.looked_at += len(ones)
        runs = index.inside(low, high)
        records = runs.sums(sizes, len(ones))
        for place, (near, still) in enumerate(zip(self.near, self._open, strict=True)):
            places = np.flatnonzero((records >= self.n) & still[ones])
            if len(places):
                supersets = runs.sums(counts[place], len(ones))[places]
                own = dense[place][ones[places]]
                proves, emd = _pairwise(near.distance, near.t, supersets, own)
                self._keep(place, ones[places], low[:, places], high[:, places], records[places], proves, emd)

    def _keep(
        self,
        place: int,
        ones: IntArray,
        low: IntArray,
        high: IntArray,
        records: IntArray,
        proves: BoolArray,
        emd: FloatArray,
    ) -> None:
        """Keeps of classes that are open the boxes that prove them, and those that are nearer than others."""
        found = self.found[place]
        better = proves | (emd < found.emd[ones])
        kept = ones[better]
        found.low[:, kept] = np.broadcast_to(low, (len(low), len(ones)))[:, better]
        found.high[:, kept] = np.broadcast_to(high, (len(high), len(ones)))[:, better]
        found.records[kept], found.emd[kept] = records[better], emd[better]
        found.proven[ones[proves]] = True
        self._open[place][ones[proves]] = False


def _dense(near: ProofTarget) -> IntArray:
    """Records by class and value, shape (classes, m)."""
    counts = np.zeros((near.classes.groups, len(near.distance.table)), dtype=np.int64)
    counts[near.classes.owner, near.classes.values] = near.classes.counts
    return counts


def _pairwise(
    distance: GroundDistance, t: Fraction, supersets: IntArray, classes: IntArray
) -> tuple[BoolArray, FloatArray]:
    """`nearness` of each class to a superset of its own, counts of shape (classes, m) each."""
    features, records, sizes = distance.features, supersets.sum(axis=1), classes.sum(axis=1)
    bound = 4 * max(features.scale, features.values) * int(records.max()) * int(sizes.max())
    whole, part = exact(features.counts(supersets), bound), exact(features.counts(classes), bound)
    differences = np.abs(exact(records, bound)[:, None] * part - exact(sizes, bound)[:, None] * whole)
    numerators = features.weighted(differences).sum(axis=1)
    return _compared(numerators, exact(records, bound) * features.scale, sizes, t)


def heights_to_try(tops: Sequence[int], most: int) -> list[Heights]:
    """All vectors of heights where they are at most `most`; else half of them the nearest to the class, half to the
    whole table.

    >>> heights_to_try([1, 2], 4), heights_to_try([1, 2], 2)
    ([(0, 1), (1, 0), (0, 2), (1, 1)], [(0, 1), (1, 1)])
    """
    if count_heights(tops) <= most:
        return list(nearest_heights(tops))
    near = list(islice(nearest_heights(tops), most - most // 2))
    far = islice(nearest_heights(tops), most // 2)  # as many steps below the whole table
    return near + [tuple(top - height for top, height in zip(tops, heights, strict=True)) for heights in far]


def nearest_heights(tops: Sequence[int]) -> Iterator[Heights]:
    """All vectors of heights but the class itself and the whole table, in order of the steps that they take."""
    for steps in range(1, sum(tops)):
        yield from _with_sum(tops, steps)


def _with_sum(tops: Sequence[int], steps: int) -> Iterator[Heights]:
    """Vectors up to `tops` with this sum."""
    if not tops:
        yield ()
        return
    rest = sum(tops[1:])
    for first in range(max(0, steps - rest), min(tops[0], steps) + 1):
        for others in _with_sum(tops[1:], steps - first):
            yield (first, *others)


def count_heights(tops: Sequence[int]) -> int:
    """How many vectors `nearest_heights` gives."""
    return math.prod(top + 1 for top in tops) - 2
