"""(n, t)-closeness (Li, Li and Venkatasubramanian 2010; Weber 2.2.3): a search for natural
supersets that prove classes, among boxes in the space of labels.

A class holds if it is at most t away from a natural superset of at least n records: all records of
the classes whose labels are inside a box around its own labels. For each quasi-identifier, a box is
an interval, a node of the hierarchy, a run of consecutive values, a missing value, or `*`. The
search tries boxes in two ways:

- Cuts: a line that crosses no label divides a box into two. Cuts retrace the steps of methods that
  divide a table along lines.
- Widenings: the labels of a class are widened step by step. They help where labels overlap and
  there are few cuts.

A class that holds is proven by the named box. A class without a proof may still have one among the
boxes not tried.
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
from tclose_spark.measures.supersets.boxes import BoxIndex
from tclose_spark.measures.supersets.label_axes import LabelAxis
from tclose_spark.table.arrays import ExactArray, FloatArray, IntArray, exact

MOST_BOXES = 100_000  # to try among cuts, and again among widenings
FEWEST = 4  # widenings to try for each class, however many classes there are
MOST_COUNTS = 1 << 25  # of values by class, held for widenings
AT_ONCE = 1 << 20  # numbers of an array
Heights = tuple[int, ...]
BoolArray = NDArray[np.bool_]


def nearness(
    distance: GroundDistance,
    t: Fraction,
    superset: IntArray,
    classes: Histograms,
) -> tuple[BoolArray, FloatArray]:
    """(whether classes are at most t away from a superset, exactly; their distances in doubles),
    shape (classes,) each.

    superset: its records by value, shape (m,).

    >>> from tclose_spark.measures.distances.ground_distances import EqualDistance
    >>> classes = Histograms.dense(np.array([[2, 0], [1, 2]]))
    >>> near, far = nearness(EqualDistance(np.array([3, 9])), Fraction(1, 4), np.array([3, 1]), classes)
    >>> near.tolist(), far.round(3).tolist()
    ([True, False], [0.25, 0.417])
    """
    over = replace(distance, table=superset)
    return _compared(over.numerators(classes), over.scale * int(superset.sum()), classes.sizes, t)


def _compared(
    numerators: ExactArray,
    units: int | IntArray,
    sizes: IntArray,
    t: Fraction,
) -> tuple[BoolArray, FloatArray]:
    """Whether numerators / (units * sizes) are at most t, exactly, and these distances."""
    bound = 2 * int(np.max(units)) * int(sizes.max()) * max(t.numerator, t.denominator)
    numerators = exact(numerators, bound)
    denominators = exact(sizes, bound) * (
        exact(units, bound) if isinstance(units, np.ndarray) else units
    )
    near = np.asarray(numerators * t.denominator <= denominators * t.numerator, dtype=np.bool_)
    return near, (numerators / denominators).astype(np.float64)


@dataclass(frozen=True)
class ProofTarget:
    """The classes to prove for one sensitive attribute.

    classes: their records by value; open: those without a proof so far, shape (classes,).
    """

    distance: GroundDistance
    t: Fraction
    classes: Histograms
    open: BoolArray


class Cut(NamedTuple):
    """A division of a box: its classes, ordered by part, and where each part begins and ends.
    records: of the largest.
    """

    records: int
    axis: int
    order: IntArray
    parts: list[tuple[int, int]]


@dataclass(frozen=True)
class BestBoxes:
    """The best box of each class for one attribute; arrays of shape (classes,), (axes, classes) for
    low and high.

    proven: whether the class has a superset that proves it.
    low, high: the ends of that box, or of the nearest one; of the class itself if no box was tried.
    records: in the box, 0 if none was tried. emd: the distance of the class from it, a double.
    """

    proven: BoolArray
    low: IntArray
    high: IntArray
    records: IntArray
    emd: FloatArray

    def keep(
        self,
        ones: IntArray,
        low: IntArray,
        high: IntArray,
        records: IntArray,
        proves: BoolArray,
        emd: FloatArray,
    ) -> None:
        """Takes for these classes the boxes that prove them or are nearer than earlier ones."""
        better = proves | (emd < self.emd[ones])
        kept = ones[better]
        self.low[:, kept] = np.broadcast_to(low, (len(low), len(ones)))[:, better]
        self.high[:, kept] = np.broadcast_to(high, (len(high), len(ones)))[:, better]
        self.records[kept] = records[better]
        self.emd[kept] = emd[better]
        self.proven[ones[proves]] = True


class BoxSearch:
    """A search for supersets of classes.

    axes: of the quasi-identifiers. sizes: records of each class, shape (classes,). targets: by
        sensitive attribute.
    n: the least records of a superset.
    found: by sensitive attribute. tried: the number of boxes.
    """

    def __init__(
        self,
        axes: Sequence[LabelAxis],
        sizes: IntArray,
        targets: Sequence[ProofTarget],
        n: int,
    ) -> None:
        self.axes = axes
        self.sizes = sizes
        self.targets = targets
        self.n = n
        self.tried = 0
        self._low, self._high = (
            np.stack([getattr(axis, end) for axis in axes]) for end in ("low", "high")
        )
        self._known: set[bytes] = set()
        classes = len(sizes)
        self.found = [
            BestBoxes(
                proven=np.zeros(classes, dtype=np.bool_),
                low=self._low.astype(np.int32),
                high=self._high.astype(np.int32),
                records=np.zeros(classes, dtype=np.int64),
                emd=np.full(classes, np.inf),
            )
            for _ in targets
        ]

    def run(self, most: int = MOST_BOXES) -> bool:
        """Searches; returns whether every known box was tried, or every class has a proof."""
        if int(self.sizes.sum()) < self.n or not self.unproven.any():
            return True
        return (self._cut(most) & self._widen(most)) or not self.unproven.any()

    @property
    def unproven(self) -> BoolArray:
        """The classes that lack a proof for some attribute, shape (classes,)."""
        everywhere = np.arange(len(self.sizes))
        unproven: BoolArray = np.any(
            [self._open(i, everywhere) for i in range(len(self.targets))],
            axis=0,
        )
        return unproven

    def _open(self, place: int, here: IntArray) -> BoolArray:
        """Which of these classes lack a proof for an attribute."""
        return self.targets[place].open[here] & ~self.found[place].proven[here]

    def _any_open(self, here: IntArray) -> bool:
        return any(bool(self._open(place, here).any()) for place in range(len(self.targets)))

    # --- cuts

    def _cut(self, most: int) -> bool:
        """Tries the boxes that cuts leave, from the whole table inwards: in each box along the most
        even line first, and along others while a class inside has no proof. Each part gets its
        share of the remaining boxes.
        """
        everything = np.arange(len(self.sizes))
        complete = True
        pending = [(self._parts_of(everything), most)] if self._enter(everything) else []
        while pending:
            parts, stop = pending[-1]
            part, share = next(parts, (None, 0.0))
            if part is None or self.tried >= stop:
                complete &= part is None
                pending.pop()
            elif self._enter(part):
                pending.append(
                    (self._parts_of(part), self.tried + math.ceil((stop - self.tried) * share)),
                )
        return complete

    def _enter(self, here: IntArray) -> bool:
        """Tries the box of these classes, which are all the classes in it; returns whether to
        divide it.
        """
        low = self._low[:, here].min(axis=1)
        high = self._high[:, here].max(axis=1)
        everything = (low == -1) & (high >= 0)  # what is missing and what is not
        high = np.where(everything, [axis.ranks for axis in self.axes], high)
        key = np.concatenate([low, high]).tobytes()
        if key in self._known or not self._any_open(here):
            return False
        self._known.add(key)
        self.tried += 1
        records = int(self.sizes[here].sum())
        for place, target in enumerate(self.targets):
            ones = here[self._open(place, here)]
            if len(ones):
                superset = target.classes.take(here).total(len(target.distance.table))
                proves, emd = nearness(
                    target.distance,
                    target.t,
                    superset,
                    target.classes.take(ones),
                )
                self.found[place].keep(
                    ones,
                    low[:, None],
                    high[:, None],
                    np.full(len(ones), records),
                    proves,
                    emd,
                )
        return self._any_open(here)

    def _parts_of(self, here: IntArray) -> Iterator[tuple[IntArray, float]]:
        """The parts of a box with n records or more, and their share of its records, cut by cut,
        while any of its classes has no proof.
        """
        records = int(self.sizes[here].sum())
        cuts = [self._cuts(place, axis, here) for place, axis in enumerate(self.axes)]
        for cut in heapq.merge(*cuts, key=lambda cut: cut[:2]):
            for first, last in cut.parts:
                if not self._any_open(here):
                    return
                part = cut.order[first:last]
                yield part, int(self.sizes[part].sum()) / records

    def _cuts(self, place: int, axis: LabelAxis, here: IntArray) -> Iterator[Cut]:
        """The cuts of a box across one quasi-identifier, the most even one first.

        Missing values are separated from all others first. Since `*` holds them, they are a part of
        a tree right below its root.
        """
        low = axis.low[here]
        high = axis.high[here]
        missing = high == -1
        if missing.all() or (~missing & (low == -1)).any():
            return
        if axis.nodes:
            first = low[~missing].min()
            last = high.max()
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

    # --- widenings

    def _widen(self, most: int) -> bool:
        """Tries boxes around the widened labels of open classes; returns whether all heights were
        tried.
        """
        ones = np.flatnonzero(self.unproven)
        if not len(ones):
            return True
        if (
            sum(target.classes.groups * len(target.distance.table) for target in self.targets)
            > MOST_COUNTS
        ):
            return False
        tops = [axis.heights for axis in self.axes]
        vectors = heights_to_try(tops, max(most // len(ones), FEWEST))
        every = count_heights(tops)
        if not vectors:
            return every == 0
        index = BoxIndex.of(self._low, self._high)
        sizes = index.prefix(self.sizes)
        dense = [_dense(target) for target in self.targets]
        counts = [index.prefix(table) for table in dense]
        step = max(1, AT_ONCE // (64 * max(table.shape[1] for table in dense)))
        for heights in vectors:
            ones = ones[self.unproven[ones]]
            for start in range(0, len(ones), step):
                self._try_widened(ones[start : start + step], heights, index, sizes, dense, counts)
        return len(vectors) == every

    def _try_widened(
        self,
        ones: IntArray,
        heights: Heights,
        index: BoxIndex,
        sizes: IntArray,
        dense: Sequence[IntArray],
        counts: Sequence[IntArray],
    ) -> None:
        """Tries the boxes around the labels of these classes, widened by these heights."""
        ends = [axis.widened(ones, height) for axis, height in zip(self.axes, heights, strict=True)]
        low = np.stack([low for low, _ in ends])
        high = np.stack([high for _, high in ends])
        self.tried += len(ones)
        runs = index.inside(low, high)
        records = runs.sums(sizes, len(ones))
        for place, target in enumerate(self.targets):
            large = np.flatnonzero((records >= self.n) & self._open(place, ones))
            if len(large):
                supersets = runs.sums(counts[place], len(ones))[large]
                proves, emd = _pairwise(
                    target.distance,
                    target.t,
                    supersets,
                    dense[place][ones[large]],
                )
                self.found[place].keep(
                    ones[large],
                    low[:, large],
                    high[:, large],
                    records[large],
                    proves,
                    emd,
                )


def _dense(target: ProofTarget) -> IntArray:
    """Records by class and value, shape (classes, m)."""
    counts = np.zeros((target.classes.groups, len(target.distance.table)), dtype=np.int64)
    counts[target.classes.owner, target.classes.values] = target.classes.counts
    return counts


def _pairwise(
    distance: GroundDistance,
    t: Fraction,
    supersets: IntArray,
    classes: IntArray,
) -> tuple[BoolArray, FloatArray]:
    """`nearness` of each class to a superset of its own; both are counts of shape (classes, m)."""
    features = distance.features
    records = supersets.sum(axis=1)
    sizes = classes.sum(axis=1)
    bound = 4 * max(features.scale, features.values) * int(records.max()) * int(sizes.max())
    whole = exact(features.counts(supersets), bound)
    part = exact(features.counts(classes), bound)
    differences = np.abs(
        exact(records, bound)[:, None] * part - exact(sizes, bound)[:, None] * whole,
    )
    numerators = features.weighted(differences).sum(axis=1)
    return _compared(numerators, exact(records, bound) * features.scale, sizes, t)


def heights_to_try(tops: Sequence[int], most: int) -> list[Heights]:
    """All vectors of heights if there are at most `most`; otherwise half of them nearest to the
    class, half nearest to the whole table.

    >>> heights_to_try([1, 2], 4), heights_to_try([1, 2], 2)
    ([(0, 1), (1, 0), (0, 2), (1, 1)], [(0, 1), (1, 1)])
    """
    if count_heights(tops) <= most:
        return list(nearest_heights(tops))
    near = list(islice(nearest_heights(tops), most - most // 2))
    far = islice(nearest_heights(tops), most // 2)  # as many steps below the whole table
    return near + [
        tuple(top - height for top, height in zip(tops, heights, strict=True)) for heights in far
    ]


def nearest_heights(tops: Sequence[int]) -> Iterator[Heights]:
    """All vectors of heights except the class itself and the whole table, fewest steps first."""
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
