"""How far rows can move inside a fragment: Delta of a histogram for each ground distance, on the whole domain.

Delta of a histogram R, as shares, is the largest earth mover's distance from R of a distribution on the same values.
The distance is convex, so it is largest where all rows have one value: ``max over v with R[v] > 0 of sum_u R[u] d(u,
v)``. Every ground distance gives ``rows * Delta = numerator / scale`` with an integer numerator, the row-weighted
Delta.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from tclose_spark.measures.distances import GroundDistance, HierarchicalDistance, OrderedDistance, exact
from tclose_spark.table.arrays import ExactArray, IntArray


class Ruler(Protocol):
    """Measures fragments along one sensitive attribute, and says where they may be cut."""

    @property
    def domain(self) -> int:
        """How many values the attribute has."""
        ...

    @property
    def scale(self) -> int:
        """Rows * Delta = numerator / scale."""
        ...

    def weighted(self, codes: IntArray, histograms: IntArray) -> ExactArray:
        """Numerators of the row-weighted Delta, shape (groups,); 0 for a histogram without rows.

        codes: shape (p,); ascending codes. histograms: shape (groups, p); rows of each of them.
        """
        ...

    def units(self, codes: IntArray, counts: IntArray) -> IntArray:
        """What a cut does not divide: the unit of each code of a fragment, shape (p,), numbered 0, 1, ... along the
        attribute.

        codes: shape (p,); the fragment's codes, ascending. counts: shape (p,); its rows of each, at least 1.
        """
        ...


@dataclass(frozen=True)
class OrderedRuler:
    """Ranks i and j are |i - j| / (m - 1) apart: the farther end from the centre of gravity (Gowda 2023, Definition
    2).
    """

    domain: int

    @property
    def scale(self) -> int:
        """See Ruler."""
        return max(self.domain - 1, 1)

    def weighted(self, codes: IntArray, histograms: IntArray) -> ExactArray:
        """See Ruler. With g the mean code, rows * max(g - lowest, highest - g)."""
        present = histograms > 0
        low = codes[present.argmax(axis=1)]
        high = codes[len(codes) - 1 - present[:, ::-1].argmax(axis=1)]
        bound = 4 * self.domain * max(int(histograms.sum(axis=1).max()), 1)
        rows = exact(histograms.sum(axis=1), bound)
        moment = exact(histograms, bound) @ codes
        farthest: ExactArray = np.maximum(moment - low * rows, high * rows - moment)
        return farthest

    def units(self, codes: IntArray, counts: IntArray) -> IntArray:
        """See Ruler: every value in its order."""
        return np.arange(len(codes), dtype=np.int64)


@dataclass(frozen=True)
class EqualRuler:
    """Any two values are at distance 1: all rows but those of the rarest value move."""

    domain: int

    @property
    def scale(self) -> int:
        """See Ruler."""
        return 1

    def weighted(self, codes: IntArray, histograms: IntArray) -> ExactArray:
        """See Ruler."""
        rows = histograms.sum(axis=1)
        farthest: ExactArray = rows - np.where(histograms > 0, histograms, rows[:, None]).min(axis=1)
        return farthest

    def units(self, codes: IntArray, counts: IntArray) -> IntArray:
        """See Ruler: values by descending count, ties by code, so that a fragment is a set of values of like
        frequency.
        """
        units = np.empty(len(codes), dtype=np.int64)
        units[np.argsort(-counts, kind="stable")] = np.arange(len(codes))
        return units


@dataclass(frozen=True)
class HierarchicalRuler:
    """Values are as far apart as their lowest common ancestor is high, over the height H of the tree.

    parents: as those of HierarchicalDistance.
    """

    domain: int
    parents: tuple[IntArray, ...]

    @property
    def scale(self) -> int:
        """See Ruler."""
        return len(self.parents)

    @cached_property
    def _nodes(self) -> list[IntArray]:
        """The node above each leaf at the heights 0..H, each of shape (m,)."""
        nodes = [np.arange(self.domain, dtype=np.int64)]
        for parent in self.parents:
            nodes.append(parent[nodes[-1]])
        return nodes

    def weighted(self, codes: IntArray, histograms: IntArray) -> ExactArray:
        """See Ruler.

        The ancestor of u and v is as high as there are heights 0..H-1 at which their nodes differ, so a row of u moves
        H to v, less 1 for each height at which they share the node.
        """
        bound = 4 * self.scale * max(int(histograms.sum(axis=1).max()), 1)
        held = exact(histograms, bound)
        farthest = self.scale * exact(histograms.sum(axis=1), bound)
        spared = held.copy()
        for node in self._nodes[1:-1]:
            starts = np.flatnonzero(np.diff(node[codes], prepend=-1))
            spared += np.repeat(np.add.reduceat(held, starts, axis=1), np.diff(np.append(starts, len(codes))), axis=1)
        least: ExactArray = np.where(histograms > 0, spared, farthest[:, None]).min(axis=1)
        return farthest - least

    def units(self, codes: IntArray, counts: IntArray) -> IntArray:
        """See Ruler: the children of the lowest common ancestor, so that a fragment is a node or a run of siblings."""
        below = self._nodes[0]
        for node in self._nodes[1:]:
            if node[codes[0]] == node[codes[-1]]:
                break
            below = node
        return np.cumsum(np.diff(below[codes], prepend=below[codes[0]]) > 0).astype(np.int64)


def ruler(distance: GroundDistance) -> Ruler:
    """The ruler of a ground distance."""
    domain = len(distance.table)
    if isinstance(distance, OrderedDistance):
        return OrderedRuler(domain)
    if isinstance(distance, HierarchicalDistance):
        return HierarchicalRuler(domain, distance.parents)
    return EqualRuler(domain)
