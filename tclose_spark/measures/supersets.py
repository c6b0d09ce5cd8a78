"""(n, t)-closeness (Li, Li and Venkatasubramanian 2010; Weber 2.2.3): how far classes are from a superset, exactly, and
the natural supersets that lie in the labels of the classes themselves.

A class holds if it is at most t away from a natural superset of at least n records: all records of the classes whose
labels lie in a wider box than its own. Here boxes come from cuts: a line across a box that runs through no label in it
leaves two boxes, each with the classes on its side. Whoever cuts a table along lines finds all its steps again. What
holds is proven by the box that is named; where none is found there may be another kind of box.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose_spark.measures.distances import GroundDistance
from tclose_spark.measures.histograms import Histograms
from tclose_spark.table.arrays import IntArray

MOST_BOXES = 20_000
"""That are looked at; beyond that classes are left without a proof."""


def superset_distances(distance: GroundDistance, superset: IntArray, classes: Histograms) -> list[Fraction]:
    """The distance of each class from a superset, over the same domain.

    superset: its records by value, shape (m,).

    >>> from tclose_spark.measures.distances import EqualDistance
    >>> classes = Histograms.dense(np.array([[2, 0], [1, 1]]))
    >>> [str(far) for far in superset_distances(EqualDistance(np.array([3, 9])), np.array([3, 1]), classes)]
    ['1/4', '1/4']
    """
    over = replace(distance, table=superset)
    unit = over.scale * int(superset.sum())
    pairs = zip(over.numerators(classes).tolist(), classes.sizes.tolist(), strict=True)
    return [Fraction(int(numerator), unit * size) for numerator, size in pairs]


class Cut(NamedTuple):
    """The classes of a box in an order in which its parts follow each other, and where these begin but the first."""

    order: IntArray
    at: Sequence[int]

    @property
    def parts(self) -> list[IntArray]:
        """The classes of each."""
        return np.split(self.order, self.at)


@dataclass(frozen=True)
class Axis:
    """A quasi-identifier's labels as stretches of ranks: of numbers, or of the leaves of a tree.

    low, high: ends of each class's label, included, shape (classes,). -1 is the missing value, which is beside all.
    nodes: of a tree, the node of each leaf at each height (`Hierarchy.nodes`); empty where there is none, and a cut is
        a number between two stretches. A box of a tree is a node, and is cut into all its children at once.

    >>> axis = Axis(np.array([1, 5, 3]), np.array([2, 9, 4]))
    >>> [[part.tolist() for part in cut.parts] for cut in axis.cuts(np.arange(3))]
    [[[0], [2, 1]], [[0, 2], [1]]]
    """

    low: IntArray
    high: IntArray
    nodes: tuple[IntArray, ...] = ()

    def cuts(self, here: IntArray) -> list[Cut]:
        """The ways to cut a box with these classes. Missing values come apart from the others before anything else."""
        known = self.high[here] != -1
        if known.any() and not known.all():
            return [] if (self.low[here][known] == -1).any() else [_cut(here, known)]
        return self._nodes_below(here) if self.nodes else self._gaps(here)

    def _gaps(self, here: IntArray) -> list[Cut]:
        order = here[np.argsort(self.low[here], kind="stable")]
        reached = np.maximum.accumulate(self.high[order])
        return [Cut(order, [gap]) for gap in (np.flatnonzero(self.low[order][1:] > reached[:-1]) + 1).tolist()]

    def _nodes_below(self, here: IntArray) -> list[Cut]:
        low, high = self.low[here], self.high[here]
        if (low == -1).any():
            return []
        first, last = low.min(), high.max()
        height = next((h for h, node in enumerate(self.nodes) if node[first] == node[last]), 0)
        if height == 0 or (self.nodes[height - 1][low] != self.nodes[height - 1][high]).any():
            return []
        return [_cut(here, self.nodes[height - 1][low])]


def _cut(here: IntArray, part: NDArray[Any]) -> Cut:
    order = np.argsort(part, kind="stable")
    return Cut(here[order], (np.flatnonzero(np.diff(part[order].astype(np.int64))) + 1).tolist())


@dataclass(frozen=True)
class Near:
    """What is asked of the classes for one sensitive attribute.

    classes: their records by value; distance: over this domain.
    open: which of them have no proof yet, shape (classes,).
    """

    distance: GroundDistance
    t: Fraction
    classes: Histograms
    open: NDArray[np.bool_]

    @property
    def dense(self) -> IntArray:
        """Records by class and value, shape (classes, m)."""
        counts = np.zeros((self.classes.groups, len(self.distance.table)), dtype=np.int64)
        counts[self.classes.owner, self.classes.values] = self.classes.counts
        return counts


@dataclass(frozen=True)
class Proof:
    """A superset of a class: the classes in it, their records, and the class's distance from it. Where it does not
    prove the class it is the nearest one that was found.
    """

    members: IntArray
    records: int
    emd: Fraction
    proves: bool


@dataclass
class BoxSearch:
    """Looks for supersets of classes: from the whole table inwards, at each box by the most even cut first, and by
    others as long as a class inside has no proof.

    axes: of the quasi-identifiers. sizes: records of each class, shape (classes,). near: by sensitive attribute.
    n: records of a superset.
    found: for each attribute, the proof of each class that was open, or the nearest box.
    looked_at: boxes.
    """

    axes: Sequence[Axis]
    sizes: IntArray
    near: Sequence[Near]
    n: int
    found: list[dict[int, Proof]] = field(default_factory=list)
    looked_at: int = 0

    def run(self, most: int = MOST_BOXES) -> bool:
        """Looks; whether nothing is left to look at (or to prove)."""
        self.found = [{} for _ in self.near]
        self._counts = [near.dense for near in self.near]
        self._open = [near.open.copy() for near in self.near]
        self._known: set[bytes] = set()
        pending = [self._parts_of(np.arange(len(self.sizes)))] if self._enter(np.arange(len(self.sizes))) else []
        while pending and self.looked_at < most:
            part = next(pending[-1], None)
            if part is None:
                pending.pop()
            elif self._enter(part):
                pending.append(self._parts_of(part))
        return not pending

    def _enter(self, here: IntArray) -> bool:
        """Looks at the box of these classes; whether to look inside."""
        records = int(self.sizes[here].sum())
        key = blake2b(np.sort(here).tobytes(), digest_size=16).digest()
        if records < self.n or not self._is_open(here) or key in self._known:
            return False
        self._known.add(key)
        self.looked_at += 1
        for near, counts, still, found in zip(self.near, self._counts, self._open, self.found, strict=True):
            asking = here[still[here]]
            if not len(asking):
                continue
            far = superset_distances(near.distance, counts[here].sum(axis=0), Histograms.dense(counts[asking]))
            for one, emd in zip(asking.tolist(), far, strict=True):
                if emd <= near.t or one not in found or emd < found[one].emd:
                    found[one] = Proof(here, records, emd, emd <= near.t)
                    still[one] = emd > near.t
        return self._is_open(here)

    def _parts_of(self, here: IntArray) -> Iterator[IntArray]:
        """The parts of a box, cut after cut, while any of its classes has no proof."""
        cuts = [cut for axis in self.axes for cut in axis.cuts(here)]
        for cut in sorted(cuts, key=self._largest):
            if not self._is_open(here):
                return
            yield from cut.parts

    def _largest(self, cut: Cut) -> int:
        """Records of its largest part."""
        return int(np.add.reduceat(self.sizes[cut.order], [0, *cut.at]).max())

    def _is_open(self, here: IntArray) -> bool:
        return any(bool(still[here].any()) for still in self._open)
