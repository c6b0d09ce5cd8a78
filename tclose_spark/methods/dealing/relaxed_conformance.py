"""Relaxed conformance: proven bounds of a class whose rows are not known yet (Weber, 4.1.3, leaves
them open).

A class of r rows takes r_F rows of each fragment F, whichever they are. With p_F = r_F / r, R_F the
distribution of a sensitive attribute inside F and Q that of the table:

    EMD(class, Q)  <=  sum over F of p_F Delta(F)  +  EMD(sum over F of p_F R_F, Q)

Proof: the class is sum p_F V_F, with V_F some distribution on the values of F. Moving V_F to R_F
costs at most Delta(F) (see `fragment_diameter`), and the costs of parts add up. The triangle
inequality through the mixture sum p_F R_F does the rest. If a class conforms exactly, p_F = (rows
of F) / n: the mixture is Q, and the aggregate bound remains. The second term is therefore the cost
of rounding shares to whole rows. If fragments are single tuples, the first term is 0, and the bound
is the exact distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tclose_spark.measures.distances.ground_distances import GroundDistance
from tclose_spark.measures.distances.multiplicity import MultiplicityMatrix, sum_at
from tclose_spark.methods.dealing.fragment_diameter import box_deltas, diameter_of
from tclose_spark.methods.dealing.stacks import Stack, class_counts, representatives
from tclose_spark.table.arrays import FloatArray, IntArray

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
        """The table of a fragmentation; with boxes, with the papers' Delta (see
        `fragment_diameter`).

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
            axis=0
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
        // min(MOST_FEATURES, max(whole.shape[1], 1))
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
                    axis=1
                )
    return delta, blunted, gaps
