"""Relaxed conformance: proven bounds of a class whose rows are not known yet (Weber, 4.1.3, leaves
them open).

A class of r rows takes r_F rows of each fragment F, whichever they are. With p_F = r_F / r, R_F the
distribution of a sensitive attribute inside F and Q that of the table:

    EMD(class, Q)  <=  sum over F of p_F Delta(F)  +  EMD(sum over F of p_F R_F, Q)

Proof: the class is sum p_F V_F, with V_F some distribution on the values of F. Moving V_F to R_F
costs at most Delta(F) (see below), and the costs of parts add up. The triangle
inequality through the mixture sum p_F R_F does the rest. If a class conforms exactly, p_F = (rows
of F) / n: the mixture is Q, and the aggregate bound remains. The second term is therefore the cost
of rounding shares to whole rows. If fragments are single tuples, the first term is 0, and the bound
is the exact distance.

How far rows can move inside a fragment: Delta of a histogram on the whole domain, for each form
of ground distance.

Delta of a histogram R (in shares) is the largest earth mover's distance between R and a
distribution on the same values. The distance is convex, so it is largest if all rows have one
value: ``max over v with R[v] > 0 of sum_u R[u] d(u, v)``. Every ground distance gives ``rows *
Delta = numerator / scale`` with an integer numerator, the row-weighted Delta (see
`measures.distances.features`).

The aggregate bound of an attribute is ``sum over fragments F of (rows of F / n) * Delta(F)``: no
class that conforms to a fragmentation is farther from the table (Gowda 2023, Definition 7; Weber,
Definition 10). Bounds of kind `domain` use the Delta above. For bounds of kind `paper`, a fragment
is a box of index ranges [a, b], and Delta is in lengths of the box:
max(g - a, b - g) / (b - a), with g the centre of gravity; 0 for a = b. It is never below the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from tclose_spark.measures.distances.features import Features
from tclose_spark.measures.distances.ground_distances import GroundDistance
from tclose_spark.measures.distances.histograms import MultiplicityMatrix, sum_at
from tclose_spark.methods.dealing.stacks import Stack, class_counts, representatives
from tclose_spark.table.arrays import ExactArray, FloatArray, IntArray, exact

Bounds = tuple[Fraction, ...]
"""The aggregate bound of each sensitive attribute."""


@dataclass(frozen=True)
class FragmentDiameter(ABC):
    """Measures fragments along one sensitive attribute, and decides where they may be cut.

    scale: rows * Delta = numerator / scale.
    """

    features: Features
    scale: int

    @property
    def domain(self) -> int:
        """The number of values."""
        return self.features.values

    @abstractmethod
    def weighted(self, codes: IntArray, histograms: IntArray) -> ExactArray:
        """Numerators of the row-weighted Delta, shape (groups,); 0 for a histogram without rows.

        codes: shape (p,); ascending codes. histograms: shape (groups, p); rows of each of them.
        """

    @abstractmethod
    def units(self, codes: IntArray, counts: IntArray) -> IntArray:
        """The parts that a cut does not divide: the unit of each code of a fragment, shape (p,),
        numbered along the attribute.

        codes: shape (p,); the fragment's codes, ascending. counts: shape (p,); the rows of each
            code, at least 1.
        """


class DiameterOnLine(FragmentDiameter):
    """For cumulative features: values are places on a line, and rows move to the end that is
    farther from their centre of gravity (Gowda 2023, Definition 2).
    """

    @cached_property
    def _places(self) -> IntArray:
        """The distance of each value from the first one, shape (m,). With unit weights it is the
        code.
        """
        weights = self.features.level_weights[0]
        places: IntArray = np.cumsum(weights) - weights
        return places

    def weighted(self, codes: IntArray, histograms: IntArray) -> ExactArray:
        """See FragmentDiameter. With g the mean place, rows * max(g - lowest, highest - g)."""
        present = histograms > 0
        places = codes if self.features.even else self._places[codes]
        low = places[present.argmax(axis=1)]
        high = places[len(codes) - 1 - present[:, ::-1].argmax(axis=1)]
        bound = 4 * max(self.domain, self.scale) * max(int(histograms.sum(axis=1).max()), 1)
        rows = exact(histograms.sum(axis=1), bound)
        moment = exact(histograms, bound) @ places
        farthest: ExactArray = np.maximum(moment - low * rows, high * rows - moment)
        return farthest

    def units(self, codes: IntArray, counts: IntArray) -> IntArray:
        """See FragmentDiameter: every value, in order."""
        return np.arange(len(codes), dtype=np.int64)


class DiameterInHierarchy(FragmentDiameter):
    """For features of nodes: rows move to the value that shares the fewest nodes with them."""

    def weighted(self, codes: IntArray, histograms: IntArray) -> ExactArray:
        """See FragmentDiameter.

        A row of u moves to v through the nodes of both at each height at which they differ. With N
        rows, and S of them at the node of v at some height, that is its weight w for N - S rows,
        and for those the weight of their own.
        """
        features = self.features
        rows = histograms.sum(axis=1)
        if features.plain and not features.parents:  # all rows but those of the rarest value move
            moving: ExactArray = rows - np.where(histograms > 0, histograms, rows[:, None]).min(
                axis=1,
            )
            return moving
        bound = 4 * self.scale * max(int(rows.max()), 1)
        held = exact(histograms, bound)
        rows = exact(rows, bound)
        if features.plain:
            shared = held.copy()
            for node in features.nodes[1:]:
                shared += _of_node(node[codes], held)
            every = len(features.nodes) * rows
            apart: ExactArray = every - np.where(histograms > 0, shared, every[:, None]).min(axis=1)
            return apart
        left = np.zeros_like(rows)
        travelled = np.zeros_like(held)
        for node, weights in zip(features.nodes, features.level_weights, strict=True):
            weight = weights[node[codes]]
            left = left + held @ weight
            travelled = travelled + weight * (rows[:, None] - 2 * _of_node(node[codes], held))
        least = travelled.min(axis=1, keepdims=True)
        farthest: ExactArray = left + np.where(histograms > 0, travelled, least).max(axis=1)
        return farthest

    def units(self, codes: IntArray, counts: IntArray) -> IntArray:
        """See FragmentDiameter: the children of the lowest common ancestor; a fragment is a node or
        a run of siblings.

        If values are right below the root, they are ordered by descending count, ties by code, so a
        fragment is a set of values with similar frequencies.
        """
        if not self.features.parents:
            units = np.empty(len(codes), dtype=np.int64)
            units[np.argsort(-counts, kind="stable")] = np.arange(len(codes))
            return units
        below = self.features.nodes[0]
        for node in self.features.nodes[1:]:
            if node[codes[0]] == node[codes[-1]]:
                break
            below = node
        return np.cumsum(np.diff(below[codes], prepend=below[codes[0]]) > 0).astype(np.int64)


def _of_node(node: IntArray, held: ExactArray) -> ExactArray:
    """Rows at the node of each code, (groups, p) -> (groups, p). node: the node of each code, shape
    (p,), ascending.
    """
    starts = np.flatnonzero(np.diff(node, prepend=-1))
    sums: ExactArray = np.repeat(
        np.add.reduceat(held, starts, axis=1),
        np.diff(np.append(starts, len(node))),
        axis=1,
    )
    return sums


def diameter_of(distance: GroundDistance) -> FragmentDiameter:
    """The diameters of fragments by a ground distance.

    >>> from tclose_spark.measures.distances.ground_distances import OrderedDistance
    >>> diameter = diameter_of(OrderedDistance(np.ones(5, dtype=np.int64)))
    >>> diameter.weighted(np.array([0, 4]), np.array([[3, 1]])).tolist()  # three rows four places up
    [12]
    """
    features = distance.features
    if features.cumulative:
        return DiameterOnLine(features, features.scale)
    # with equal steps, as many go down as up, and half of them are counted
    scale = features.scale // 2 if features.plain else features.scale
    return DiameterInHierarchy(features, scale)


def box_deltas(codes: IntArray, counts: IntArray, box: IntArray) -> Bounds:
    """The row-weighted Delta, of kind paper, of the cells in one box, for each attribute.

    codes: shape (cells, attributes); counts: shape (cells,); box: shape (attributes, 2).

    >>> import numpy as np
    >>> codes, counts = np.array([[2], [4]]), np.array([3, 1])  # centre of gravity 2.5 in the box [2, 4]
    >>> [str(delta) for delta in box_deltas(codes, counts, np.array([[2, 4]]))]  # 4 rows, (4 - 2.5) / 2 each
    ['3']
    """
    rows = int(counts.sum())
    deltas = []
    for attribute, (first, last) in enumerate(box.tolist()):
        moment = int(
            (codes[:, attribute] - first) @ exact(counts, 4 * (last - first + 1) * max(rows, 1)),
        )
        farthest = max(moment, (last - first) * rows - moment)
        deltas.append(Fraction(farthest, last - first) if last > first else Fraction(0))
    return tuple(deltas)


SURE = 1e-12  # kept back from every t, for what floats round; the verification is exact
LOOK_FIRST = 16  # compositions; most sizes that fail, fail there
CHUNK = 1 << 22  # entries of a dense table of mixtures held at once: 32 MiB
MOST_FEATURES = 2_000  # of an attribute, that mixtures are measured in


@dataclass(frozen=True)
class FragmentTable:
    """The figures of a fragmentation that proven bounds need. S attributes, f fragments.

    rows: shape (f,).
    deltas: shape (S, f), in units of distance.
    gaps: for each attribute, the differences between each fragment and the table in the features
        whose weighted sum is the distance (cumulative shares, or shares of values or nodes), shape
        (f, features). Of very many features, sums of neighbours (see `_measure`).
    weights: of one feature of each attribute, shape (S,).
    """

    rows: IntArray
    deltas: FloatArray
    gaps: tuple[FloatArray, ...]
    weights: tuple[float, ...]

    @staticmethod
    def of(
        matrix: MultiplicityMatrix,
        fragment_of: IntArray,
        distances: Sequence[GroundDistance],
        boxes: IntArray | None = None,
    ) -> FragmentTable:
        """The table of a fragmentation; with boxes, with the papers' Delta.

        fragment_of: shape (cells,). boxes: shape (f, S, 2).
        """
        f = int(fragment_of.max()) + 1
        rows = sum_at(fragment_of, matrix.counts, f)
        deltas = np.zeros((len(distances), f))
        charges = np.zeros((len(distances), f))
        gaps = []
        weights = []
        for s, distance in enumerate(distances):
            weights.append(1 / distance.features.scale)
            deltas[s], blunted, gap = _measure(matrix, fragment_of, rows, s, distance)
            charges[s] = weights[s] * blunted
            gaps.append(gap)
        if boxes is not None:
            for number, box in enumerate(boxes):
                here = fragment_of == number
                deltas[:, number] = [
                    float(d) / rows[number]
                    for d in box_deltas(matrix.codes[here], matrix.counts[here], box)
                ]
        return FragmentTable(rows, deltas + charges, tuple(gaps), tuple(weights))

    def proven_bounds(self, shares: FloatArray) -> FloatArray:
        """The proven bounds of classes that take these shares of their rows from the fragments:
        (classes, f) -> (classes, S).
        """
        step = max(CHUNK // max(1, *(gap.shape[1] for gap in self.gaps)), 1)
        parts = []
        for i in range(0, len(shares), step):
            part = shares[i : i + step]
            mixtures = [
                weight * np.abs(part @ gap).sum(axis=1)
                for gap, weight in zip(self.gaps, self.weights, strict=True)
            ]
            parts.append(part @ self.deltas.T + np.stack(mixtures, axis=1))
        return np.concatenate(parts)

    def largest_bounds(self, stack: Stack, e: int, limits: FloatArray) -> FloatArray:
        """The largest proven bound of each attribute over the e classes of a stack of fragments,
        shape (S,).

        If one of the first classes is above its limit, the bounds cover a few classes only.
        """
        classes = representatives(stack, e)
        few = classes[
            np.linspace(0, len(classes) - 1, min(LOOK_FIRST, len(classes))).astype(np.int64)
        ]
        of_few = self._largest(stack, e, few)
        return self._largest(stack, e, classes) if np.all(of_few <= limits) else of_few

    def _largest(self, stack: Stack, e: int, classes: IntArray) -> FloatArray:
        counts = class_counts(stack, classes, e)
        largest: FloatArray = self.proven_bounds(counts / counts.sum(axis=1, keepdims=True)).max(
            axis=0,
        )
        return largest


def _measure(
    matrix: MultiplicityMatrix,
    fragment_of: IntArray,
    rows: IntArray,
    attribute: int,
    distance: GroundDistance,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(Delta of each fragment, the difference of its gaps from their means, the gaps) of one
    attribute.

    Very many features are added up in MOST_FEATURES parts. Each feature of a part is replaced by
    its mean, and a fragment's difference from its means is added to its Delta, by the triangle
    inequality.
    """
    f = len(rows)
    m = len(distance.table)
    diameter = diameter_of(distance)
    features = distance.features
    whole = features.counts(distance.table[None, :]) / distance.table.sum()
    starts = np.unique(
        np.arange(min(MOST_FEATURES, whole.shape[1]))
        * whole.shape[1]
        // min(MOST_FEATURES, max(whole.shape[1], 1)),
    )
    widths = np.diff(np.append(starts, whole.shape[1]))
    delta = np.zeros(f)
    blunted = np.zeros(f)
    gaps = np.zeros((f, len(starts)))
    order = np.argsort(fragment_of, kind="stable")
    ends = np.searchsorted(fragment_of[order], np.arange(f + 1))
    step = max(CHUNK // m, 1)
    for i in range(0, f, step):
        j = min(i + step, f)
        cells = order[ends[i] : ends[j]]
        inside = sum_at(
            (fragment_of[cells] - i) * m + matrix.codes[cells, attribute],
            matrix.counts[cells],
            (j - i) * m,
        ).reshape(j - i, m)
        delta[i:j] = np.array(diameter.weighted(np.arange(m), inside), dtype=np.float64) / (
            diameter.scale * rows[i:j]
        )
        if len(starts):
            gap = features.weighted(features.counts(inside) / rows[i:j, None] - whole)
            gaps[i:j] = np.add.reduceat(gap, starts, axis=1)
            if len(starts) < gap.shape[1]:
                blunted[i:j] = np.abs(gap - np.repeat(gaps[i:j] / widths, widths, axis=1)).sum(
                    axis=1,
                )
    return delta, blunted, gaps
